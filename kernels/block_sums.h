// What the threads of a block give together, for kernels of 256 threads. All of them must come.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/launch.h"

namespace cb::kernels {

constexpr unsigned block_threads = 256;

template <typename T>
struct OfWarps {
  T value[block_threads / 32];
};

// The order of the sum does not depend on anything.
template <typename T>
__device__ T block_sum(T mine) {
  CB_SHARED(OfWarps<T>, sums);
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0U, mine, lanes);
  if (threadIdx.x % 32 == 0) sums.value[threadIdx.x / 32] = mine;
  __syncthreads();
  T all = sums.value[0];
  for (unsigned w = 1; w < block_threads / 32; ++w) all += sums.value[w];
  __syncthreads();  // the next call writes the same variable
  return all;
}

// A NaN is no maximum; whoever uses it must meet the NaN again.
__device__ inline float block_max(float mine) {
  CB_SHARED(OfWarps<float>, tops);
  for (int lanes = 16; lanes > 0; lanes /= 2) mine = fmaxf(mine, __shfl_xor_sync(~0U, mine, lanes));
  if (threadIdx.x % 32 == 0) tops.value[threadIdx.x / 32] = mine;
  __syncthreads();
  float all = tops.value[0];
  for (unsigned w = 1; w < block_threads / 32; ++w) all = fmaxf(all, tops.value[w]);
  __syncthreads();
  return all;
}

// Blocks for a grid-stride loop: enough for a large device, and few enough to be cheap.
inline unsigned blocks_of(std::int64_t items) {
  constexpr std::int64_t most = 16384;
  const std::int64_t blocks = (items + block_threads - 1) / block_threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks);
}
__device__ inline std::int64_t loop_begin() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t loop_step() { return std::int64_t{gridDim.x} * blockDim.x; }

}  // namespace cb::kernels
