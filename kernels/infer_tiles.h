// A product of few rows of x with bf16 weights on tensor cores. A block has eight pairs of rows of
// the weights at a time; its warps share the inputs, and each reads its part of the weights once,
// 16 bytes a thread. The tensor core's rows are the weights' and its columns those of x: what a
// lane has read is its part of A (kernels/tensor.h), if both operands take the inputs in the same
// order, which no sum minds.
#pragma once

#include "kernels/infer_operand.h"
#include "kernels/tensor.h"

namespace cb::kernels::infer_detail {

constexpr Index tile_pairs = 8;    // of weights
constexpr Index step_inputs = 32;  // of a warp: 16 bytes of weights for each lane, of two rows
constexpr int steps_ahead = 4;     // whose weights are asked for together

// Four sums for each lane: of the low and of the high row, with two rows of x.
struct TileSums {
  float value[product_warps][32][4];
};

// What a lane reads by.
struct Lane {
  const std::uint16_t *low, *high;  // weights
  const float *x, *gain;
  float scale;
  bool has_row;  // of x; else zeros stand for it
};

template <bool Normed>
struct Tile {
  float sums[4] = {};

  template <int Steps>
  __device__ void add(const Lane& at, Index input) {
    uint4 low[Steps], high[Steps];
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      low[s] = *reinterpret_cast<const uint4*>(at.low + input + s * step_inputs);
      high[s] = *reinterpret_cast<const uint4*>(at.high + input + s * step_inputs);
    }
#pragma unroll
    for (int s = 0; s < Steps; ++s) multiply(low[s], high[s], at, input + s * step_inputs);
  }
  __device__ void multiply(const uint4& low, const uint4& high, const Lane& at, Index input) {
    std::uint32_t b[4] = {};
    if (at.has_row) {
      four_inputs(at, input, b[0], b[1]);
      four_inputs(at, input + 4, b[2], b[3]);
    }
    multiply_bfloat16(sums, {low.x, high.x, low.y, high.y}, {b[0], b[1]}, sums);
    multiply_bfloat16(sums, {low.z, high.z, low.w, high.w}, {b[2], b[3]}, sums);
  }
  __device__ static void four_inputs(const Lane& at, Index input, std::uint32_t& first,
                                     std::uint32_t& second) {
    float x[4], gain[4] = {};
    load_four(x, at.x + input);
    if constexpr (Normed) load_four(gain, at.gain + input);
    for (int i = 0; i < 4; ++i) x[i] = operand<Normed>(x[i], at.scale, gain[i]);
    first = pack_bfloat16(x[0], x[1]);
    second = pack_bfloat16(x[2], x[3]);
  }
};

// The inputs of a warp: four steps of each 32.
template <bool Normed>
__device__ Tile<Normed> multiply_tile(const InferProduct& p, const Lane& at) {
  const Index steps = p.inputs / step_inputs, apart = product_warps * steps_ahead;
  Tile<Normed> out;
  for (Index first = threadIdx.x / 32 * steps_ahead; first < steps; first += apart) {
    if (first + steps_ahead <= steps) {
      out.template add<steps_ahead>(at, first * step_inputs);
      continue;
    }
    for (Index s = first; s < steps; ++s) out.template add<1>(at, s * step_inputs);
  }
  return out;
}

// The last tile's missing pairs read the last pair, and nobody asks for their sums.
template <bool Normed, typename Ending>
__global__ void __launch_bounds__(block_threads)
    infer_tiles(InferProduct p, Index pairs, Ending ending) {
  CB_SHARED(Scales, scales);
  CB_SHARED(TileSums, all);
  if constexpr (Normed) find_scales(p, scales);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int g = lane / 4, t = lane % 4;
  const auto* w = static_cast<const std::uint16_t*>(p.w) + 8 * t;
  const bool has_row = g < p.rows;
  const float* x = p.x + (has_row ? g * p.stride_x : 0) + 8 * t;
  const float* gain = Normed ? p.gain + 8 * t : nullptr;
  const float scale = Normed && has_row ? scales.value[g] : 1.0F;
  for (Index n = Index{blockIdx.x} * tile_pairs; n < pairs; n += Index{gridDim.x} * tile_pairs) {
    const Pair pair = ending.pair(min(n + g, pairs - 1));
    const Lane at{w + pair.low * p.stride_w, w + pair.high * p.stride_w, x, gain, scale, has_row};
    const Tile<Normed> mine = multiply_tile<Normed>(p, at);
    for (int i = 0; i < 4; ++i) all.value[warp][lane][i] = mine.sums[i];
    __syncthreads();
    if (warp == 0 && n + g < pairs) {
      float sum[4] = {};
      for (unsigned from = 0; from < product_warps; ++from)
        for (int i = 0; i < 4; ++i) sum[i] += all.value[from][lane][i];
      if (2 * t < p.rows) ending.put(2 * t, pair, sum[0], sum[2]);
      if (2 * t + 1 < p.rows) ending.put(2 * t + 1, pair, sum[1], sum[3]);
    }
    __syncthreads();  // the next tile writes the same variable
  }
}

inline bool tiles_take(const InferProduct& p) {
  return p.narrow && p.inputs % step_inputs == 0 && comes_by_16(p);
}

template <bool Normed, typename Ending>
int start_tiles(const InferProduct& p, Index pairs, const Ending& ending, void* stream) {
  return launch<infer_tiles<Normed, Ending>>({blocks_for(pairs, tile_pairs), block_threads}, stream,
                                             p, pairs, ending);
}

}  // namespace cb::kernels::infer_detail
