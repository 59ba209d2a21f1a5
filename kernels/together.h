// Blocks that wait for each other: a launch of which all blocks are on the device at once, and
// words in memory by which one block tells others how far it is. For the CPU they are the
// executor's (kernels/launch.h).
#pragma once

#include <cstdint>

#include "kernels/launch.h"

#ifdef __CUDACC__
#include <type_traits>

namespace cb::kernels {

// As launch(), but the device starts the blocks when it has room for all of them. More than it ever
// has is an error. Kernels of other streams go on beside it.
template <auto Kernel, typename... Arguments>
int launch_together(const Shape& shape, void* stream, const Arguments&... arguments) {
  static_assert(std::is_same_v<decltype(Kernel), void (*)(Arguments...)>,
                "a cooperative launch converts no argument");
  void* each[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Kernel), shape.blocks,
                                     shape.threads, each, shape.shared_bytes,
                                     static_cast<cudaStream_t>(stream));
}

// Of one thread: what it wrote, and what its block wrote before the last barrier, is seen by
// whoever sees the value.
__device__ inline void announce(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
// Waits until the word, which only rises, is `value` or more.
__device__ inline void await(const std::uint64_t* word, std::uint64_t value) {
  std::uint64_t seen = 0;
  do asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(seen) : "l"(word) : "memory");
  while (seen < value);
}

}  // namespace cb::kernels

#else
#include <device_executor/together.h>
#endif

namespace cb::kernels {

// How many blocks of that many threads the device holds at once if it is empty: a cudaError_t.
template <auto Kernel>
int most_together(int threads, std::int64_t* blocks) {
  int device = 0, multiprocessors = 0, of_each = 0;
  if (const int e = cudaGetDevice(&device)) return e;
  if (const int e =
          cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device))
    return e;
  if (const int e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &of_each, reinterpret_cast<const void*>(Kernel), threads, 0))
    return e;
  *blocks = std::int64_t{multiprocessors} * of_each;
  return cudaSuccess;
}

}  // namespace cb::kernels
