// Products of few rows: a warp takes some rows of the weights, which it reads once, 16 bytes a
// thread.
#include "kernels/bfloat16.h"
#include "kernels/block_sums.h"
#include "kernels/infer.h"
#include "kernels/launch.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

constexpr int warp_outputs = 2;  // so that x is read half as often
constexpr unsigned product_warps = block_threads / 32;

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
  __device__ explicit Loaded(const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    value[0] = four.x;
    value[1] = four.y;
    value[2] = four.z;
    value[3] = four.w;
  }
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
template <int Rows, bool Narrow>
struct RowSums {
  using Load = Loaded<Narrow>;
  float sum[warp_outputs][Rows] = {};

  // As many inputs as a load has, from `at` on.
  __device__ void add_loaded(const InferProduct& p, const typename Load::Element* const* w,
                             Index at) {
    const Load first(w[0] + at), second(w[1] + at);
    for (int r = 0; r < Rows; ++r) {
      if (r >= p.rows) break;
      const float* x = p.x + r * p.stride_x + at;
      for (int part = 0; part < Load::count; part += 4) {
        const Loaded<false> four(x + part);
        for (int i = 0; i < 4; ++i) {
          const float value = Load::rounded(four.value[i]);
          sum[0][r] += value * first.value[part + i];
          sum[1][r] += value * second.value[part + i];
        }
      }
    }
  }
  __device__ void add_one(const InferProduct& p, const typename Load::Element* const* w, Index at) {
    for (int r = 0; r < Rows; ++r) {
      if (r >= p.rows) break;
      const float value = Load::rounded(p.x[r * p.stride_x + at]);
      for (int o = 0; o < warp_outputs; ++o) sum[o][r] += value * Load::wide(w[o][at]);
    }
  }
};

// `loaded`: inputs that may be read 16 bytes at a time; the rest follows one by one.
template <int Rows, bool Narrow>
__global__ void __launch_bounds__(block_threads) infer_product(InferProduct p, Index loaded) {
  using Sums = RowSums<Rows, Narrow>;
  using Element = typename Sums::Load::Element;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Index warp = Index{blockIdx.x} * product_warps + threadIdx.x / 32;
  const Index step = Index{gridDim.x} * product_warps * warp_outputs;
  for (Index n = warp * warp_outputs; n < p.outputs; n += step) {
    const auto* row = static_cast<const Element*>(p.w) + n * p.stride_w;
    // The last warp may have one row alone, which it reads twice.
    const bool both = n + 1 < p.outputs;
    const Element* w[warp_outputs] = {row, both ? row + p.stride_w : row};
    Sums sums;
#pragma unroll 4
    for (Index at = Index{lane} * Sums::Load::count; at < loaded; at += 32 * Sums::Load::count)
      sums.add_loaded(p, w, at);
    for (Index at = loaded + lane; at < p.inputs; at += 32) sums.add_one(p, w, at);
    for (int r = 0; r < Rows; ++r) {
      if (r >= p.rows) break;
      for (int o = 0; o < warp_outputs; ++o) {
        float all = sums.sum[o][r];
        for (int lanes = 16; lanes > 0; lanes /= 2) all += __shfl_xor_sync(~0U, all, lanes);
        if (lane == 0 && (o == 0 || both)) p.y[r * p.stride_y + n + o] = all;
      }
    }
  }
}

bool stands_at_16(const void* data, Index stride, Index bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(stride * bytes)) %
             16 ==
         0;
}

template <int Rows>
int start_product(const InferProduct& p, void* stream) {
  const Index bytes = p.narrow ? 2 : 4, each = 16 / bytes;
  const bool wide =
      stands_at_16(p.w, p.stride_w, bytes) && stands_at_16(p.x, p.rows > 1 ? p.stride_x : 0, 4);
  const Index loaded = wide ? p.inputs / each * each : 0;
  const Index warps = (p.outputs + warp_outputs - 1) / warp_outputs;
  const Index blocks = (warps + product_warps - 1) / product_warps;
  const Shape shape{static_cast<unsigned>(blocks < 65535 ? blocks : 65535), block_threads};
  if (p.narrow) return launch<infer_product<Rows, true>>(shape, stream, p, loaded);
  return launch<infer_product<Rows, false>>(shape, stream, p, loaded);
}

}  // namespace

int launch_infer_product(const InferProduct& p, void* stream) {
  if (p.rows == 0 || p.outputs == 0) return cudaSuccess;
  if (p.rows > infer_most_rows) return cudaErrorInvalidValue;
  if (p.rows == 1) return start_product<1>(p, stream);
  if (p.rows == 2) return start_product<2>(p, stream);
  if (p.rows <= 4) return start_product<4>(p, stream);
  return start_product<8>(p, stream);
}

}  // namespace cb::kernels
