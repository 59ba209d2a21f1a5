#include "kernels/launch.h"
#include "kernels/overhead.h"

namespace cb::kernels {
namespace {

__global__ void count_launch(unsigned long long* counter) {
  if (counter != nullptr) ++*counter;
}

}  // namespace

int launch_count(std::uint64_t* counter, void* stream) {
  return launch<count_launch>({1, 1}, stream, reinterpret_cast<unsigned long long*>(counter));
}

}  // namespace cb::kernels
