#include "sys/gpu/cuda_runtime.h"

#include <fmt/format.h>

namespace cb::cuda {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

const char* least_driver(int runtime_major) {
  if (runtime_major < 12) return "450";
  return runtime_major == 12 ? "525" : "580";
}

}  // namespace cb::cuda
