// In a program that has the CUDA runtime and the kernels linked into it, or that has none.
#include "sys/gpu/cuda_runtime.h"

namespace cb::cuda {

bool uses_modules() { return false; }
std::optional<ModuleChoice> module_for_driver() { return std::nullopt; }
std::optional<ModuleChoice> module_in_use() { return std::nullopt; }

}  // namespace cb::cuda
