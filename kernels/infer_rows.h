// A product of few rows on the ordinary units: of fp32, and of bf16 in sizes that infer_tiles.h
// does not take. A warp has two rows of the weights at a time and reads them once, 16 bytes a
// thread.
#pragma once

#include "kernels/bfloat16.h"
#include "kernels/infer_operand.h"

namespace cb::kernels::infer_detail {

// 16 bytes of weights as fp32 numbers.
template <bool Narrow>
struct Loaded;
template <>
struct Loaded<false> {
  static constexpr int count = 4;
  using Element = float;
  __device__ static float wide(float value) { return value; }
  __device__ static float rounded(float value) { return value; }
  float value[count];
  __device__ explicit Loaded(const float* from) { load_four(value, from); }
};
template <>
struct Loaded<true> {
  static constexpr int count = 8;
  using Element = std::uint16_t;
  __device__ static float wide(std::uint16_t value) { return from_bfloat16(value); }
  __device__ static float rounded(float value) { return from_bfloat16(to_bfloat16(value)); }
  float value[count];
  __device__ explicit Loaded(const std::uint16_t* from) {
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    const unsigned word[4] = {words.x, words.y, words.z, words.w};
    for (int i = 0; i < 4; ++i) {
      value[2 * i] = __uint_as_float(word[i] << 16);
      value[2 * i + 1] = __uint_as_float(word[i] & 0xffff0000U);
    }
  }
};

// The sums of one warp: this thread's part of them.
template <int Rows, bool Narrow, bool Normed>
struct RowSums {
  using Load = Loaded<Narrow>;
  using Element = typename Load::Element;
  float low[Rows] = {}, high[Rows] = {};

  // As many inputs as a load has, from `at` on.
  __device__ void add_loaded(const InferProduct& p, const Scales& scales, const Element* w_low,
                             const Element* w_high, Index at) {
    const Load first(w_low + at), second(w_high + at);
    for (int part = 0; part < Load::count; part += 4) {
      float gain[4] = {};
      if constexpr (Normed) load_four(gain, p.gain + at + part);
      for (int r = 0; r < Rows; ++r) {
        if (r >= p.rows) break;
        float x[4];
        load_four(x, p.x + r * p.stride_x + at + part);
        for (int i = 0; i < 4; ++i)
          add(r, operand<Normed>(x[i], scales.value[r], gain[i]), first.value[part + i],
              second.value[part + i]);
      }
    }
  }
  __device__ void add_one(const InferProduct& p, const Scales& scales, const Element* w_low,
                          const Element* w_high, Index at) {
    for (int r = 0; r < Rows; ++r) {
      if (r >= p.rows) break;
      const float x = p.x[r * p.stride_x + at], gain = Normed ? p.gain[at] : 1.0F;
      add(r, operand<Normed>(x, scales.value[r], gain), Load::wide(w_low[at]),
          Load::wide(w_high[at]));
    }
  }
  __device__ void add(int row, float x, float of_low, float of_high) {
    const float value = Load::rounded(x);
    low[row] += value * of_low;
    high[row] += value * of_high;
  }
};

__device__ inline float sum_of_warp(float mine) {
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0U, mine, lanes);
  return mine;
}

// `loaded`: inputs that may be read 16 bytes at a time; the rest follows one by one.
template <int Rows, bool Narrow, bool Normed, typename Ending>
__global__ void __launch_bounds__(block_threads)
    infer_rows(InferProduct p, Index pairs, Index loaded, Ending ending) {
  using Sums = RowSums<Rows, Narrow, Normed>;
  using Element = typename Sums::Element;
  CB_SHARED(Scales, scales);
  if constexpr (Normed) find_scales(p, scales);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Index step = Index{gridDim.x} * product_warps;
  for (Index n = Index{blockIdx.x} * product_warps + threadIdx.x / 32; n < pairs; n += step) {
    const Pair pair = ending.pair(n);
    const auto* w = static_cast<const Element*>(p.w);
    const Element *w_low = w + pair.low * p.stride_w, *w_high = w + pair.high * p.stride_w;
    Sums sums;
#pragma unroll 4
    for (Index at = Index{lane} * Sums::Load::count; at < loaded; at += 32 * Sums::Load::count)
      sums.add_loaded(p, scales, w_low, w_high, at);
    for (Index at = loaded + lane; at < p.inputs; at += 32)
      sums.add_one(p, scales, w_low, w_high, at);
    for (int r = 0; r < Rows; ++r) {
      if (r >= p.rows) break;
      const float low = sum_of_warp(sums.low[r]), high = sum_of_warp(sums.high[r]);
      if (lane == 0) ending.put(r, pair, low, high);
    }
  }
}

template <int Rows, bool Narrow, bool Normed, typename Ending>
int start_rows(const InferProduct& p, Index pairs, const Ending& ending, void* stream) {
  const Index each = Narrow ? 8 : 4;
  const Index loaded = comes_by_16(p) ? p.inputs / each * each : 0;
  return launch<infer_rows<Rows, Narrow, Normed, Ending>>(
      {blocks_for(pairs, product_warps), block_threads}, stream, p, pairs, loaded, ending);
}

}  // namespace cb::kernels::infer_detail
