// Causal attention without scores in memory, backward: FlashAttention-2 (Dao 2023, arXiv
// 2307.08691), but without atomics, so that it repeats bit by bit. One kernel has the gradients of
// 64 keys and values a block, with scores transposed; another one has the gradients of 128 queries
// a block. Both compute the probabilities again from the log sums. Blocks with most work come
// first.
#include <cmath>
#include <type_traits>

#include "kernels/flash.h"
#include "kernels/launch.h"
#include "kernels/train.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;
using Numbers = std::uint16_t;
using Backward = TrainFlashBackward;

constexpr int key_tile = 64, query_tile = 64;  // of the gradients of keys and values
constexpr int half_tile = 32;                  // queries whose scores are in registers
constexpr int row_tile = 128, step_tile = 32;  // of the gradients of queries

// Of Backward::dots, a head.
__device__ __forceinline__ Index padded_rows(const Backward& f) {
  return (f.sequence + row_tile - 1) / row_tile * row_tile;
}

// ---- What both need of each row: log₂ Σ 2^(score · log₂ e), and Σ out·dout. A warp has a row of
// one head. Rows behind the sequence's last get an infinite sum, so that they count nothing.

template <int Dim>
__global__ void __launch_bounds__(flash_threads) train_flash_dots_of(Backward f, Index padded) {
  constexpr int each = Dim / 32;
  const Index at = (static_cast<Index>(blockIdx.x) * flash_threads + threadIdx.x) / 32;
  const Index head = at % f.heads, row = at / f.heads % padded, batch = at / f.heads / padded;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (batch >= f.batch) return;
  float2 both = make_float2(INFINITY, 0);
  if (row < f.sequence) {
    const Index from = ((batch * f.sequence + row) * f.heads + head) * Dim + lane * each;
    float dot = 0;
#pragma unroll
    for (int i = 0; i < each; i += 2) {
      const float2 d = *reinterpret_cast<const float2*>(f.dout + from + i);
      const float2 o = *reinterpret_cast<const float2*>(f.out + from + i);
      const std::uint32_t pair = pack_bfloat16(d.x, d.y);
      *reinterpret_cast<std::uint32_t*>(f.narrow + from + i) = pair;
      dot += o.x * __uint_as_float(pair << 16) + o.y * __uint_as_float(pair & 0xffff0000U);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) dot += __shfl_xor_sync(~0U, dot, lanes);
    const float log_sum = f.log_sums[(batch * f.heads + head) * f.sequence + row];
    both = make_float2(log_sum * flash_log2_e, dot);
  }
  if (lane == 0) reinterpret_cast<float2*>(f.dots)[(batch * f.heads + head) * padded + row] = both;
}

// ---- Gradients of keys and values. A warp has 16 keys: rows of the transposed scores. ----

template <int Dim>
struct KeyStage {
  Numbers q[query_tile * Dim], dout[query_tile * Dim];
  float2 rows[query_tile];
};
template <int Dim>
using Fragments16 = std::uint32_t[Dim / 16][4];
template <int Dim>
using Sums16 = float[1][Dim / 8][4];
using HalfScores = float[1][half_tile / 8][4];

// The tile of queries that a block turns to: of head after head of those that share the keys, from
// the keys' own rows to the last.
struct QueryTile {
  int head, first;
};

template <int Dim>
__device__ __forceinline__ FlashPlace<Dim> place_of_keys(const Backward& f, int share) {
  const int kv = anew(static_cast<int>(blockIdx.x));
  return FlashPlace<Dim>(f, kv * share, kv);
}

template <int Dim>
__device__ __forceinline__ void copy_stage(KeyStage<Dim>& to, const Backward& f, int share,
                                           const QueryTile& t) {
  const FlashPlace<Dim> at = place_of_keys<Dim>(f, share);
  const Index head = at.head + t.head, wide = f.heads * Dim;
  copy_tile<query_tile, Dim>(to.q, at.q + t.head * Dim, at.stride, t.first, at.sequence);
  copy_tile<query_tile, Dim>(to.dout, f.narrow + at.batch * at.sequence * wide + head * Dim,
                             static_cast<int>(wide), t.first, at.sequence);
  const Index padded = padded_rows(f);
  const int thread = thread_anew();
  if (thread < query_tile / 2)
    copy_begin(to.rows + 2 * thread,
               f.dots + 2 * ((at.batch * f.heads + head) * padded + t.first + 2 * thread));
  copies_commit();
}

// Scores become probabilities, and their gradients those of scores. Rows are keys, columns queries,
// of which the first is `later` than the block's first key.
template <bool Hides>
__device__ __forceinline__ void weigh_keys(HalfScores& s, HalfScores& ds, const float2* rows,
                                           int later, float scale) {
  const int pair = thread_anew() % 4 * 2;
  later += column_minus_row();
#pragma unroll
  for (int n = 0; n < half_tile / 8; ++n) {
    const float4 two = *reinterpret_cast<const float4*>(rows + n * 8 + pair);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float p = power_of_two(s[0][n][i] * scale - (i % 2 == 0 ? two.x : two.z));
      if (Hides && later + n * 8 + i % 2 < i / 2 * 8) p = 0;
      s[0][n][i] = p;
      ds[0][n][i] = p * (ds[0][n][i] - (i % 2 == 0 ? two.y : two.w));
    }
  }
}

template <int Dim>
__device__ __forceinline__ void write_keys(float* to, const FlashPlace<Dim>& at, int first,
                                           const Sums16<Dim>& sums, float scale) {
  const int thread = thread_anew(), lane = thread % 32;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int key = first + thread / 32 * 16 + i * 8 + lane / 4;
    if (key >= at.sequence) continue;
    float* row = to + static_cast<Index>(key) * at.stride + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < Dim / 8; ++n)
      *reinterpret_cast<float2*>(row + n * 8) =
          make_float2(sums[0][n][2 * i] * scale, sums[0][n][2 * i + 1] * scale);
  }
}

template <int Dim>
__global__ void __launch_bounds__(flash_threads, 2)
    train_flash_keys(Backward f, int share, float scale) {
  auto* const stages = dynamic_shared<KeyStage<Dim>>();
  const FlashPlace<Dim> at = place_of_keys<Dim>(f, share);
  const int begin = static_cast<int>(blockIdx.z) * key_tile;
  // Keys and values pass through the second stage into registers.
  copy_tile<key_tile, Dim>(stages[1].q, at.k, at.stride, begin, at.sequence);
  copy_tile<key_tile, Dim>(stages[1].dout, at.v(), at.stride, begin, at.sequence);
  copies_commit();
  QueryTile tile{0, begin};
  copy_stage(stages[0], f, share, tile);
  copies_wait<1>();
  __syncthreads();
  Fragments16<Dim> k, v;
#pragma unroll
  for (int i = 0; i < Dim / 16; ++i) {
    load_rows<Dim>(k[i], stages[1].q, thread_anew() / 32 * 16, i);
    load_rows<Dim>(v[i], stages[1].dout, thread_anew() / 32 * 16, i);
  }
  Sums16<Dim> dk = {}, dv = {};
  const auto half = [&](const KeyStage<Dim>& stage, int first, auto hides) {
    HalfScores s = {}, ds = {};
    const auto take = [](const Fragments16<Dim>& from) {
      return [&from](std::uint32_t(&a)[4], int, int i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) a[j] = from[i][j];
      };
    };
    multiply_by_rows<Dim, Dim / 16>(s, take(k), stage.q + first * Dim);
    multiply_by_rows<Dim, Dim / 16>(ds, take(v), stage.dout + first * Dim);
    weigh_keys<decltype(hides)::value>(s, ds, stage.rows + first, first, scale * flash_log2_e);
    multiply_by_columns<Dim>(dv, s, stage.dout + first * Dim);
    multiply_by_columns<Dim>(dk, ds, stage.q + first * Dim);
  };
  for (int turn = 0; tile.head < share; turn ^= 1) {
    copies_wait<0>();
    __syncthreads();
    const int first = tile.first;
    tile.first += query_tile;
    if (tile.first >= at.sequence) tile = {tile.head + 1, begin};
    if (tile.head < share) copy_stage(stages[turn ^ 1], f, share, tile);
    for (int i = 0; i < query_tile; i += half_tile)
      if (first == begin)
        half(stages[turn], i, std::true_type());
      else
        half(stages[turn], i, std::false_type());
  }
  const FlashPlace<Dim> place = place_of_keys<Dim>(f, share);
  float* const to =
      f.dqkv + place.batch * place.sequence * place.stride + (f.heads + blockIdx.x) * Dim;
  write_keys(to, place, begin, dk, scale);
  write_keys(to + f.kv_heads * Dim, place, begin, dv, 1.0F);
}

// ---- Gradients of queries. A warp has 16 rows of each half of the block's. ----

constexpr int row_halves = 2;
template <int Dim>
struct RowTiles {
  Numbers q[row_tile * Dim], dout[row_tile * Dim];
  Numbers k[2][step_tile * Dim], v[2][step_tile * Dim];
};
using StepScores = float[row_halves][step_tile / 8][4];
struct RowSums {
  float2 of[row_halves][2];
};

__device__ __forceinline__ int query_of(int m, int i) {
  const int thread = thread_anew();
  return m * 64 + thread / 32 * 16 + i * 8 + thread % 32 / 4;
}

// Gradients of probabilities become those of scores. Keys behind the row have none; the tile's
// first key is `later` than the block's first row.
template <bool Hides>
__device__ __forceinline__ void weigh_rows(const StepScores& s, StepScores& ds, const RowSums& rows,
                                           int later, float scale) {
  later += column_minus_row();
#pragma unroll
  for (int m = 0; m < row_halves; ++m)
#pragma unroll
    for (int n = 0; n < step_tile / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 row = rows.of[m][i / 2];
        float p = power_of_two(s[m][n][i] * scale - row.x);
        if (Hides && later + n * 8 + i % 2 > m * 64 + i / 2 * 8) p = 0;
        ds[m][n][i] = p * (ds[m][n][i] - row.y);
      }
}

template <int Dim>
__device__ __forceinline__ void write_queries(const Backward& f, const FlashPlace<Dim>& at,
                                              int first, const float (&dq)[row_halves][Dim / 8][4],
                                              float scale) {
  float* const to = f.dqkv + at.batch * at.sequence * at.stride + at.head * Dim;
#pragma unroll
  for (int m = 0; m < row_halves; ++m)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first + query_of(m, i);
      if (row >= at.sequence) continue;
      float* out = to + static_cast<Index>(row) * at.stride + thread_anew() % 4 * 2;
#pragma unroll
      for (int n = 0; n < Dim / 8; ++n)
        *reinterpret_cast<float2*>(out + n * 8) =
            make_float2(dq[m][n][2 * i] * scale, dq[m][n][2 * i + 1] * scale);
    }
}

template <int Dim>
__global__ void __launch_bounds__(flash_threads, 2)
    train_flash_queries(Backward f, unsigned share, float scale) {
  auto& tiles = *dynamic_shared<RowTiles<Dim>>();
  const FlashPlace<Dim> at(f, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.x / share));
  const int begin = static_cast<int>(gridDim.z - 1 - blockIdx.z) * row_tile;
  const int end = min(begin + row_tile, at.sequence), wide = static_cast<int>(f.heads * Dim);
  const auto copy_keys = [&](int turn, int first) {
    copy_tile<step_tile, Dim>(tiles.k[turn], at.k, at.stride, first, at.sequence);
    copy_tile<step_tile, Dim>(tiles.v[turn], at.v(), at.stride, first, at.sequence);
    copies_commit();
  };
  copy_tile<row_tile, Dim>(tiles.q, at.q, at.stride, begin, at.sequence);
  copy_tile<row_tile, Dim>(tiles.dout, f.narrow + at.batch * at.sequence * wide + at.head * Dim,
                           wide, begin, at.sequence);
  copy_keys(0, 0);
  RowSums rows;
  const auto* const sums = reinterpret_cast<const float2*>(f.dots) +
                           (at.batch * f.heads + at.head) * padded_rows(f) + begin;
#pragma unroll
  for (int m = 0; m < row_halves; ++m)
#pragma unroll
    for (int i = 0; i < 2; ++i) rows.of[m][i] = sums[query_of(m, i)];
  float dq[row_halves][Dim / 8][4] = {};
  const auto load = [](const Numbers* from) {
    return [from](std::uint32_t(&a)[4], int m, int i) {
      load_rows<Dim>(a, from, m * 64 + thread_anew() / 32 * 16, i);
    };
  };
  int turn = 0;
  const auto step = [&](int first, auto hides) {
    copies_wait<0>();
    __syncthreads();
    if (first + step_tile < end) copy_keys(turn ^ 1, first + step_tile);
    StepScores s = {}, ds = {};
    multiply_by_rows<Dim, 4>(s, load(tiles.q), tiles.k[turn]);
    multiply_by_rows<Dim, 4>(ds, load(tiles.dout), tiles.v[turn]);
    weigh_rows<decltype(hides)::value>(s, ds, rows, first - begin, scale * flash_log2_e);
    multiply_by_columns<Dim>(dq, ds, tiles.k[turn]);
    turn ^= 1;
  };
  int first = 0;
  for (; first < begin; first += step_tile) step(first, std::false_type());
  for (; first < end; first += step_tile) step(first, std::true_type());
  write_queries(f, at, begin, dq, scale);
}

template <int Dim>
int start_backward(const Backward& f, void* stream) {
  const Index padded = train_flash_padded(f.sequence);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(Dim)));
  const auto dots = static_cast<unsigned>((f.batch * f.heads * padded + 3) / 4);
  const auto tiles = [&](int rows) {
    return static_cast<unsigned>((f.sequence + rows - 1) / rows);
  };
  const auto batch = static_cast<unsigned>(f.batch), heads = static_cast<unsigned>(f.heads);
  const auto kv_heads = static_cast<unsigned>(f.kv_heads), share = heads / kv_heads;
  const dim3 keys(kv_heads, batch, tiles(key_tile));
  const dim3 rows(heads, batch, tiles(row_tile));
  if (const int e = launch<train_flash_dots_of<Dim>>({dots, flash_threads}, stream, f, padded))
    return e;
  if (const int e = launch<train_flash_keys<Dim>>({keys, flash_threads, 2 * sizeof(KeyStage<Dim>)},
                                                  stream, f, static_cast<int>(share), scale))
    return e;
  return launch<train_flash_queries<Dim>>({rows, flash_threads, sizeof(RowTiles<Dim>)}, stream, f,
                                          share, scale);
}

}  // namespace

int launch_train_flash_backward(const TrainFlashBackward& f, void* stream) {
  if (!train_flash_takes(f.dim) || f.heads % f.kv_heads != 0 || f.sequence > train_flash_longest)
    return cudaErrorInvalidValue;
  if (f.batch == 0 || f.sequence == 0) return cudaSuccess;
  return f.dim == 64 ? start_backward<64>(f, stream) : start_backward<128>(f, stream);
}

}  // namespace cb::kernels
