// A product of few rows of bf16 on tensor cores. A block has eight pairs of rows of the weights at
// a time; its warps share the inputs, and each reads its part of the weights once, 16 bytes a
// thread. The tensor core's rows are the weights' and its columns those of x: what a lane has read
// is its part of A and B (kernels/tensor.h), if both take the inputs in the same order, which no
// sum minds.
#pragma once

#include "kernels/infer_operand.h"
#include "kernels/tensor.h"

namespace cb::kernels::infer_detail {

constexpr Index tile_pairs = 8;                   // of weights
constexpr Index step_inputs = infer_tile_inputs;  // of a warp: 16 bytes for each lane of a row
constexpr int steps_ahead = 4;                    // whose weights are asked for together

// Of eight rows of x four sums for each lane: of the low and of the high row of the weights, with
// two rows of x.
template <int Eights>
struct TileSums {
  float value[product_warps][32][4 * Eights];
};

// What a lane reads by. Where there are fewer rows of x the last one stands for those that are
// missing: nobody asks for their columns.
template <int Eights>
struct Lane {
  const std::uint16_t *low, *high, *x[Eights];
};

template <int Eights>
struct Tile {
  float sums[Eights][4] = {};

  template <int Steps>
  __device__ void add(const Lane<Eights>& at, Index input) {
    uint4 low[Steps], high[Steps];
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      low[s] = load_once(at.low + input + s * step_inputs);
      high[s] = load_once(at.high + input + s * step_inputs);
    }
#pragma unroll
    for (int eight = 0; eight < Eights; ++eight) {
      uint4 x[Steps];
      float(&mine)[4] = sums[eight];
#pragma unroll
      for (int s = 0; s < Steps; ++s)
        x[s] = *reinterpret_cast<const uint4*>(at.x[eight] + input + s * step_inputs);
#pragma unroll
      for (int s = 0; s < Steps; ++s) {
        multiply_bfloat16(mine, {low[s].x, high[s].x, low[s].y, high[s].y}, {x[s].x, x[s].y}, mine);
        multiply_bfloat16(mine, {low[s].z, high[s].z, low[s].w, high[s].w}, {x[s].z, x[s].w}, mine);
      }
    }
  }
  // The steps of this warp: four, then those of seven other warps.
  __device__ void add_all(const Lane<Eights>& at, Index inputs) {
    const Index steps = inputs / step_inputs, apart = product_warps * steps_ahead;
    for (Index first = threadIdx.x / 32 * steps_ahead; first < steps; first += apart) {
      if (first + steps_ahead <= steps) {
        this->template add<steps_ahead>(at, first * step_inputs);
        continue;
      }
      for (Index s = first; s < steps; ++s) this->template add<1>(at, s * step_inputs);
    }
  }
};

// The sums of all warps for what this lane has of eight rows of x.
template <int Eights, typename Ending>
__device__ void end_eight(const InferProduct& p, const TileSums<Eights>& all, int eight,
                          const Pair& pair, const Ending& ending) {
  const int lane = static_cast<int>(threadIdx.x % 32), row = 8 * eight + 2 * (lane % 4);
  float sum[4] = {};
  for (unsigned from = 0; from < product_warps; ++from)
    for (int i = 0; i < 4; ++i) sum[i] += all.value[from][lane][4 * eight + i];
  if (row < p.rows) ending.put(row, pair, sum[0], sum[2]);
  if (row + 1 < p.rows) ending.put(row + 1, pair, sum[1], sum[3]);
}

// The last tile's missing pairs read the last pair, and nobody asks for their sums.
template <int Eights, typename Ending>
__global__ void __launch_bounds__(block_threads, 2)
    infer_tiles(InferProduct p, Index pairs, Ending ending) {
  CB_SHARED(TileSums<Eights>, all);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int g = lane / 4, t = lane % 4;
  const auto* w = static_cast<const std::uint16_t*>(p.w) + 8 * t;
  const auto* x = static_cast<const std::uint16_t*>(p.x) + 8 * t;
  Lane<Eights> at{};
  for (int eight = 0; eight < Eights; ++eight)
    at.x[eight] = x + min(Index{8 * eight + g}, p.rows - 1) * p.stride_x;
  for (Index n = Index{blockIdx.x} * tile_pairs; n < pairs; n += Index{gridDim.x} * tile_pairs) {
    const Pair pair = ending.pair(min(n + g, pairs - 1));
    at.low = w + pair.low * p.stride_w;
    at.high = w + pair.high * p.stride_w;
    Tile<Eights> mine;
    mine.add_all(at, p.inputs);
    for (int i = 0; i < 4 * Eights; ++i) all.value[warp][lane][i] = mine.sums[i / 4][i % 4];
    __syncthreads();
    if (warp < Eights && n + g < pairs) end_eight(p, all, warp, pair, ending);
    __syncthreads();  // the next tile writes the same variable
  }
}

template <typename Ending>
int start_tiles(const InferProduct& p, Index pairs, const Ending& ending, void* stream) {
  const Shape shape{blocks_for(pairs, tile_pairs), block_threads};
  if (p.rows <= 8) return launch<infer_tiles<1, Ending>>(shape, stream, p, pairs, ending);
  return launch<infer_tiles<2, Ending>>(shape, stream, p, pairs, ending);
}

}  // namespace cb::kernels::infer_detail
