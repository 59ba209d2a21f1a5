// What the threads of a block of 1024 give together: for few long rows, of which a block has one.
// All threads must come.
#pragma once

#include <cmath>

#include "kernels/launch.h"

namespace cb::kernels {

constexpr unsigned wide_threads = 1024;

struct OfWideWarps {
  float value[wide_threads / 32];
};

__device__ inline float sum_of_warp(float mine) {
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0U, mine, lanes);
  return mine;
}
// A NaN is no maximum.
__device__ inline float max_of_warp(float mine) {
  for (int lanes = 16; lanes > 0; lanes /= 2) mine = fmaxf(mine, __shfl_xor_sync(~0U, mine, lanes));
  return mine;
}

// There are as many warps as lanes: each warp joins all.
__device__ inline float wide_sum(float mine) {
  CB_SHARED(OfWideWarps, wide_sums);
  mine = sum_of_warp(mine);
  if (threadIdx.x % 32 == 0) wide_sums.value[threadIdx.x / 32] = mine;
  __syncthreads();
  const float all = sum_of_warp(wide_sums.value[threadIdx.x % 32]);
  __syncthreads();  // the next call writes the same variable
  return all;
}
__device__ inline float wide_max(float mine) {
  CB_SHARED(OfWideWarps, wide_tops);
  mine = max_of_warp(mine);
  if (threadIdx.x % 32 == 0) wide_tops.value[threadIdx.x / 32] = mine;
  __syncthreads();
  const float all = max_of_warp(wide_tops.value[threadIdx.x % 32]);
  __syncthreads();
  return all;
}

}  // namespace cb::kernels
