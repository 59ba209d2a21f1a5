#include "bench/collectives/nccl/device.h"

namespace cb::nccl {

std::variant<Devices, std::string> gpu_devices(Context&) {
  return std::string(
      "this clusterbench was built without CUDA: configure it with -DCLUSTERBENCH_CUDA=ON where "
      "nvcc is found");
}

}  // namespace cb::nccl
