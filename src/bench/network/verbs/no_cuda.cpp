#include "bench/network/verbs/memory.h"

namespace cb::verbs {

std::unique_ptr<TransferMemory> gpu_memory(int, size_t, const Registration&) {
  throw Error(visible_gpus().absent);
}

Gpus visible_gpus() {
  return {{},
          "this clusterbench was built without CUDA; next: configure it with "
          "-DCLUSTERBENCH_CUDA=ON where nvcc is found, or use --memory host"};
}

}  // namespace cb::verbs
