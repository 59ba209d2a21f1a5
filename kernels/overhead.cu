#include <cuda_runtime_api.h>

#include "kernels/overhead.h"

namespace cb::kernels {
namespace {

__global__ void count(unsigned long long* counter) {
  if (counter != nullptr) ++*counter;
}

}  // namespace

int launch_count(std::uint64_t* counter, void* stream) {
  count<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(
      reinterpret_cast<unsigned long long*>(counter));
  return cudaGetLastError();
}

}  // namespace cb::kernels
