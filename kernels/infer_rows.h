// A product of few rows on the ordinary units: of fp32, and of bf16 in sizes that infer_tiles.h
// does not take. A warp has two rows of the weights at a time and reads them once, 16 bytes a
// thread.
#pragma once

#include "kernels/infer_operand.h"
#include "kernels/sixteen_bytes.h"
#include "kernels/wide_block.h"

namespace cb::kernels::infer_detail {

// The sums of one warp: this thread's part of them. Of fewer rows than Rows the last one stands for
// those that are missing.
template <int Rows, bool Narrow>
struct RowSums {
  using Load = Sixteen<Narrow>;
  using Element = typename Load::Element;
  static constexpr Index step = 32 * Load::count;  // inputs that a warp reads at once
  static constexpr int steps_ahead = Rows <= 2 ? 4 : Rows == 4 ? 2 : 1;  // asked for together

  const Element *x[Rows], *w_low, *w_high;
  float low[Rows] = {}, high[Rows] = {};

  __device__ RowSums(const InferProduct& p, const Pair& pair) {
    const auto* w = static_cast<const Element*>(p.w);
    w_low = w + pair.low * p.stride_w;
    w_high = w + pair.high * p.stride_w;
    for (int r = 0; r < Rows; ++r)
      x[r] = static_cast<const Element*>(p.x) + min(Index{r}, p.rows - 1) * p.stride_x;
  }

  template <int Steps>
  __device__ void add_steps(Index at) {
    uint4 of_low[Steps], of_high[Steps];
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      of_low[s] = load_once(w_low + at + s * step);
      of_high[s] = load_once(w_high + at + s * step);
    }
#pragma unroll
    for (int s = 0; s < Steps; ++s) {
      const Load first(of_low[s]), second(of_high[s]);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const Load operand(*reinterpret_cast<const uint4*>(x[r] + at + s * step));
        for (int i = 0; i < Load::count; ++i) {
          low[r] += operand.value[i] * first.value[i];
          high[r] += operand.value[i] * second.value[i];
        }
      }
    }
  }
  __device__ void add_one(Index at) {
    for (int r = 0; r < Rows; ++r) {
      const float value = Load::wide(x[r][at]);
      low[r] += value * Load::wide(w_low[at]);
      high[r] += value * Load::wide(w_high[at]);
    }
  }
  // `loaded`: inputs that may be read 16 bytes at a time; the rest follows one by one.
  __device__ void add_all(Index inputs, Index loaded, int lane) {
    Index at = Index{lane} * Load::count;
    for (; at + (steps_ahead - 1) * step < loaded; at += steps_ahead * step)
      add_steps<steps_ahead>(at);
    for (; at < loaded; at += step) add_steps<1>(at);
    for (at = loaded + lane; at < inputs; at += 32) add_one(at);
  }
};

template <int Rows, bool Narrow, typename Ending>
__global__ void __launch_bounds__(block_threads, 1)
    infer_rows(InferProduct p, Index pairs, Index loaded, Ending ending) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Index step = Index{gridDim.x} * product_warps;
  for (Index n = Index{blockIdx.x} * product_warps + threadIdx.x / 32; n < pairs; n += step) {
    const Pair pair = ending.pair(n);
    RowSums<Rows, Narrow> sums(p, pair);
    sums.add_all(p.inputs, loaded, lane);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const float low = sum_of_warp(sums.low[r]), high = sum_of_warp(sums.high[r]);
      if (lane == 0 && r < p.rows) ending.put(r, pair, low, high);
    }
  }
}

template <int Rows, bool Narrow, typename Ending>
int start_rows(const InferProduct& p, Index pairs, const Ending& ending, void* stream) {
  const Index each = Narrow ? 8 : 4;
  const Index loaded = infer_comes_by_16(p) ? p.inputs / each * each : 0;
  return launch<infer_rows<Rows, Narrow, Ending>>({blocks_for(pairs, product_warps), block_threads},
                                                  stream, p, pairs, loaded, ending);
}

}  // namespace cb::kernels::infer_detail
