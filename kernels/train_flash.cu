// Causal attention without scores in memory: FlashAttention-2 (Dao 2023, arXiv 2307.08691),
// forward. A block has 128 rows of one head and walks over tiles of 64 keys; a warp has 16 rows of
// each half. Blocks with most keys come first.
#include <cmath>
#include <type_traits>

#include "kernels/flash.h"
#include "kernels/launch.h"
#include "kernels/train.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

constexpr int flash_rows = 128, flash_keys = 64, flash_halves = 2;

// The row of the block that holds numbers 2·i and 2·i + 1 of the lane's fragments in half m.
__device__ __forceinline__ int row_of(int m, int i) {
  const int thread = thread_anew();
  return m * 64 + thread / 32 * 16 + i * 8 + thread % 32 / 4;
}

// What the lane's four rows have seen: the largest score, and its part of the sum of e^(score −
// largest).
template <int Dim>
struct FlashRows {
  float out[flash_halves][Dim / 8][4] = {};
  float top[flash_halves][2] = {{-INFINITY, -INFINITY}, {-INFINITY, -INFINITY}};
  float sum[flash_halves][2] = {};
};

using Scores = float[flash_halves][flash_keys / 8][4];

// Keys behind the row do not count. The tile's first key is `later` than the block's first row.
__device__ __forceinline__ void hide_later(Scores& s, int later) {
  later += column_minus_row();
#pragma unroll
  for (int m = 0; m < flash_halves; ++m)
#pragma unroll
    for (int n = 0; n < flash_keys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (later + n * 8 + i % 2 > m * 64 + i / 2 * 8) s[m][n][i] = -INFINITY;
}

// Scores become e^(score − largest), and what was summed before follows the new largest. The first
// key is before all rows, so there is a largest from the first tile on; a NaN makes its row NaN.
template <int Dim>
__device__ __forceinline__ void weigh(Scores& s, FlashRows<Dim>& r, float scale) {
#pragma unroll
  for (int m = 0; m < flash_halves; ++m)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float top = r.top[m][i];
#pragma unroll
      for (int n = 0; n < flash_keys / 8; ++n)
        top = fmaxf(top, fmaxf(s[m][n][2 * i], s[m][n][2 * i + 1]));
      top = fmaxf(top, __shfl_xor_sync(~0U, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0U, top, 2));
      const float before = power_of_two((r.top[m][i] - top) * scale), shift = top * scale;
      r.top[m][i] = top;
      r.sum[m][i] *= before;
#pragma unroll
      for (int n = 0; n < Dim / 8; ++n) {
        r.out[m][n][2 * i] *= before;
        r.out[m][n][2 * i + 1] *= before;
      }
#pragma unroll
      for (int n = 0; n < flash_keys / 8; ++n)
#pragma unroll
        for (int j = 2 * i; j < 2 * i + 2; ++j) {
          s[m][n][j] = power_of_two(s[m][n][j] * scale - shift);
          r.sum[m][i] += s[m][n][j];
        }
    }
}

template <int Dim>
__device__ __forceinline__ void write_rows(const TrainFlash& f, const FlashPlace<Dim>& at,
                                           int first, const FlashRows<Dim>& r, float scale) {
  const int lane = thread_anew() % 32;
#pragma unroll
  for (int m = 0; m < flash_halves; ++m)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float sum = r.sum[m][i];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      const int row = first + row_of(m, i);
      if (row >= at.sequence) continue;
      float* out = f.out + ((at.batch * at.sequence + row) * f.heads + at.head) * Dim;
      const float factor = 1.0F / sum;
#pragma unroll
      for (int n = 0; n < Dim / 8; ++n)
        *reinterpret_cast<float2*>(out + n * 8 + lane % 4 * 2) =
            make_float2(r.out[m][n][2 * i] * factor, r.out[m][n][2 * i + 1] * factor);
      if (lane % 4 == 0)
        f.log_sums[(at.batch * f.heads + at.head) * at.sequence + row] =
            r.top[m][i] * scale + logf(sum);
    }
}

// Values of a tile are copied while scores are computed, and keys of the next one while values are
// added up.
template <int Dim>
__global__ void __launch_bounds__(flash_threads, 2)
    train_flash(TrainFlash f, unsigned share, float scale) {
  auto* const q = dynamic_shared<std::uint16_t>();
  std::uint16_t *const k = q + flash_rows * Dim, *const v = k + flash_keys * Dim;
  const FlashPlace<Dim> at(f, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.x / share));
  const int begin = static_cast<int>(gridDim.z - 1 - blockIdx.z) * flash_rows;
  copy_tile<flash_rows, Dim>(q, at.q, at.stride, begin, at.sequence);
  copy_tile<flash_keys, Dim>(k, at.k, at.stride, 0, at.sequence);
  copies_commit();
  FlashRows<Dim> r;
  const int end = min(begin + flash_rows, at.sequence);
  const auto step = [&](int first, auto hides) {
    copies_wait<0>();
    __syncthreads();
    copy_tile<flash_keys, Dim>(v, at.v(), at.stride, first, at.sequence);
    copies_commit();
    Scores s = {};
    multiply_by_rows<Dim, 4>(
        s,
        [&](auto& a, int m, int i) {
          load_rows<Dim>(a, q, row_of(m, 0) - (threadIdx.x % 32) / 4, i);
        },
        k);
    copies_wait<0>();
    __syncthreads();
    if (first + flash_keys < end)
      copy_tile<flash_keys, Dim>(k, at.k, at.stride, first + flash_keys, at.sequence);
    copies_commit();
    if constexpr (decltype(hides)::value) hide_later(s, first - begin);
    weigh(s, r, scale * flash_log2_e);
    multiply_by_columns<Dim>(r.out, s, v);
  };
  int first = 0;
  for (; first < begin; first += flash_keys) step(first, std::false_type());
  for (; first < end; first += flash_keys) step(first, std::true_type());
  write_rows(f, at, begin, r, scale);
}

template <int Dim>
int start_flash(const TrainFlash& f, void* stream) {
  const auto tiles = static_cast<unsigned>((f.sequence + flash_rows - 1) / flash_rows);
  const auto heads = static_cast<unsigned>(f.heads), batch = static_cast<unsigned>(f.batch);
  const auto share = static_cast<unsigned>(f.heads / f.kv_heads);
  const dim3 blocks(heads, batch, tiles);
  constexpr std::size_t bytes = (flash_rows + 2 * flash_keys) * Dim * sizeof(std::uint16_t);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(Dim)));
  return launch<train_flash<Dim>>({blocks, flash_threads, bytes}, stream, f, share, scale);
}

}  // namespace

int launch_train_flash(const TrainFlash& f, void* stream) {
  if (!train_flash_takes(f.dim) || f.heads % f.kv_heads != 0 || f.sequence > train_flash_longest)
    return cudaErrorInvalidValue;
  if (f.batch == 0 || f.sequence == 0) return cudaSuccess;
  return f.dim == 64 ? start_flash<64>(f, stream) : start_flash<128>(f, stream);
}

}  // namespace cb::kernels
