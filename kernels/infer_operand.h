// The other operand of a product of few rows: rows of x, as they are or with their RMSNorm. Device
// code of infer_rows.h and infer_tiles.h.
#pragma once

#include "kernels/block_sums.h"
#include "kernels/infer.h"
#include "kernels/launch.h"

namespace cb::kernels::infer_detail {

using Index = std::int64_t;

constexpr unsigned product_warps = block_threads / 32;

// Two rows of the weights, whose sums one thread has in the end. They may be the same row.
struct Pair {
  Index low, high;
};

// What each row of x is multiplied by besides the gains.
struct Scales {
  float value[infer_most_rows];
};

// As train_norm has them, to the bit. `scales` is shared; all threads of a block must come.
__device__ inline void find_scales(const InferProduct& p, Scales& scales) {
  for (Index r = 0; r < p.rows; ++r) {
    const float* x = p.x + r * p.stride_x;
    float mine = 0;
    for (Index i = threadIdx.x; i < p.inputs; i += block_threads) mine += x[i] * x[i];
    const float mean = block_sum(mine) / static_cast<float>(p.inputs);
    if (threadIdx.x == 0) scales.value[r] = 1.0F / sqrtf(mean + 1e-5F);
  }
  __syncthreads();
}

template <bool Normed>
__device__ float operand(float x, float scale, float gain) {
  return Normed ? x * scale * gain : x;
}

__device__ inline void load_four(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

inline bool stands_at_16(const void* data, Index stride, Index bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(stride * bytes)) %
             16 ==
         0;
}
// Whether 16 bytes can be read at once from each row of x and w, and from the gains.
inline bool comes_by_16(const InferProduct& p) {
  return stands_at_16(p.w, p.stride_w, p.narrow ? 2 : 4) &&
         stands_at_16(p.x, p.rows > 1 ? p.stride_x : 0, 4) && stands_at_16(p.gain, 0, 4);
}

inline unsigned blocks_for(Index pairs, Index each) {
  const Index blocks = (pairs + each - 1) / each;
  return static_cast<unsigned>(blocks < 65535 ? blocks : 65535);
}

}  // namespace cb::kernels::infer_detail
