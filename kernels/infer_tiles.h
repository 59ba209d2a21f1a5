// A product of few rows of bf16 on tensor cores. A block has eight pairs of rows of the weights at
// a time; its warps share the inputs, and each reads its part of the weights once, 16 bytes a
// thread. The tensor core's rows are the weights' and its columns those of x: what a lane has read
// is its part of A and B (kernels/tensor.h), if both take the inputs in the same order, which no
// sum minds.
#pragma once

#include "kernels/infer_operand.h"
#include "kernels/tensor.h"

namespace cb::kernels::infer_detail {

constexpr Index tile_pairs = 8;    // of weights
constexpr Index step_inputs = 32;  // of a warp: 16 bytes for each lane of a row
constexpr int steps_ahead = 4;     // whose weights are asked for together

// Four sums for each lane: of the low and of the high row, with two rows of x.
struct TileSums {
  float value[product_warps][32][4];
};

// What a lane reads by. Of fewer than eight rows of x the last one stands for those that are
// missing: nobody asks for their columns.
struct Lane {
  const std::uint16_t *low, *high, *x;
};

struct Tile {
  float sums[4] = {};

  template <int Steps>
  __device__ void add(const Lane& at, Index input) {
    uint4 low[Steps], high[Steps], x[Steps];
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      low[s] = load_once(at.low + input + s * step_inputs);
      high[s] = load_once(at.high + input + s * step_inputs);
    }
#pragma unroll
    for (int s = 0; s < Steps; ++s)
      x[s] = *reinterpret_cast<const uint4*>(at.x + input + s * step_inputs);
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      multiply_bfloat16(sums, {low[s].x, high[s].x, low[s].y, high[s].y}, {x[s].x, x[s].y}, sums);
      multiply_bfloat16(sums, {low[s].z, high[s].z, low[s].w, high[s].w}, {x[s].z, x[s].w}, sums);
    }
  }
  // The steps of this warp: four, then those of seven other warps.
  __device__ void add_all(const Lane& at, Index inputs) {
    const Index steps = inputs / step_inputs, apart = product_warps * steps_ahead;
    for (Index first = threadIdx.x / 32 * steps_ahead; first < steps; first += apart) {
      if (first + steps_ahead <= steps) {
        add<steps_ahead>(at, first * step_inputs);
        continue;
      }
      for (Index s = first; s < steps; ++s) add<1>(at, s * step_inputs);
    }
  }
};

// The last tile's missing pairs read the last pair, and nobody asks for their sums.
template <typename Ending>
__global__ void __launch_bounds__(block_threads, 2)
    infer_tiles(InferProduct p, Index pairs, Ending ending) {
  CB_SHARED(TileSums, all);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int g = lane / 4, t = lane % 4;
  const auto* w = static_cast<const std::uint16_t*>(p.w) + 8 * t;
  const auto* x =
      static_cast<const std::uint16_t*>(p.x) + min(Index{g}, p.rows - 1) * p.stride_x + 8 * t;
  for (Index n = Index{blockIdx.x} * tile_pairs; n < pairs; n += Index{gridDim.x} * tile_pairs) {
    const Pair pair = ending.pair(min(n + g, pairs - 1));
    Tile mine;
    mine.add_all({w + pair.low * p.stride_w, w + pair.high * p.stride_w, x}, p.inputs);
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

template <typename Ending>
int start_tiles(const InferProduct& p, Index pairs, const Ending& ending, void* stream) {
  return launch<infer_tiles<Ending>>({blocks_for(pairs, tile_pairs), block_threads}, stream, p,
                                     pairs, ending);
}

}  // namespace cb::kernels::infer_detail
