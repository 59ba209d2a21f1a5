#include "bench/storage/gds/memory.h"
#include "core/error.h"

namespace cb::gds {

std::unique_ptr<IoMemory> gpu_memory(int, size_t) {
  throw Error(
      "this clusterbench was built without CUDA; next: configure it with -DCLUSTERBENCH_CUDA=ON "
      "where nvcc is found, or use --memory host");
}

}  // namespace cb::gds
