// Tiles of bf16 in shared memory and products of them on tensor cores, for attention that keeps no
// scores (train_flash.cu, train_flash_backward.cu). A block has four warps.
#pragma once

#include <cstdint>

#include "kernels/tensor.h"

namespace cb::kernels {

constexpr int flash_threads = 128;
constexpr float flash_log2_e = 1.44269504F;

// Of the running block, whose grid is heads × sequences × tiles: where its head begins, and the
// keys and values that it sees. `share` heads share them.
template <int Dim>
struct FlashPlace {
  std::int64_t batch, head;
  int sequence, stride;
  const std::uint16_t *q, *k;  // of the sequence's first row
  int kv_heads;

  template <typename Flash>
  __device__ FlashPlace(const Flash& f, int of_head, int kv)
      : batch(anew(static_cast<int>(blockIdx.y))),
        head(of_head),
        sequence(static_cast<int>(f.sequence)),
        stride(static_cast<int>((f.heads + 2 * f.kv_heads) * Dim)),
        q(f.qkv + batch * sequence * stride + head * Dim),
        k(f.qkv + batch * sequence * stride + (f.heads + kv) * Dim),
        kv_heads(static_cast<int>(f.kv_heads)) {}
  __device__ const std::uint16_t* v() const { return k + anew(kv_heads) * Dim; }
};

__device__ __forceinline__ int thread_anew() { return anew(static_cast<int>(threadIdx.x)); }

// Where the 8 numbers `chunk` ^ `more` of a row stand; `more` is even. Chunks change places by the
// row's number, so that one chunk of 8 neighbouring rows lies in all banks.
template <int Dim>
__device__ __forceinline__ int tile_place(int row, int chunk, int more = 0) {
  return row * Dim + ((chunk ^ (row & 7)) ^ more) * 8;
}

// Column minus row of the lane's first number in a product whose rows are 16 of each warp.
__device__ __forceinline__ int column_minus_row() {
  const int thread = thread_anew();
  return thread % 4 * 2 - thread % 32 / 4 - thread / 32 * 16;
}

// Begins to copy rows first … first + Rows − 1 of `from`, which has `rows`; those beyond its end
// are copies of its last.
template <int Rows, int Dim>
__device__ __forceinline__ void copy_tile(std::uint16_t* tile, const std::uint16_t* from,
                                          int stride, int first, int rows) {
  constexpr int chunks = Dim / 8, at_once = flash_threads / chunks;
  const int thread = thread_anew(), chunk = thread % chunks, row = thread / chunks;
#pragma unroll
  for (int r = 0; r < Rows; r += at_once) {
    const int source = min(first + row + r, rows - 1);
    copy_begin(tile + tile_place<Dim>(row + r, chunk),
               from + static_cast<std::int64_t>(source) * stride + chunk * 8);
  }
}

// A(row … row + 15, 16·k …) of a tile.
template <int Dim>
__device__ __forceinline__ void load_rows(std::uint32_t (&a)[4], const std::uint16_t* tile, int row,
                                          int k) {
  const int lane = thread_anew() % 32;
  load_matrices(a, tile + tile_place<Dim>(row + lane % 16, lane / 16, 2 * k));
}

// The two products of 16×16 by 16×8 whose B are the halves of `b`.
__device__ __forceinline__ void multiply_pair(float (&left)[4], float (&right)[4],
                                              const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[4]) {
  const std::uint32_t b_left[2] = {b[0], b[1]}, b_right[2] = {b[2], b[3]};
  multiply_bfloat16(left, a, b_left, left);
  multiply_bfloat16(right, a, b_right, right);
}

// sum[m][n] += A·Bᵀ for 16 rows of A each m and 8 rows of the tile b each n, over Dim;
// load_a(fragment, m, k) gives A(16 rows, 16·k …). Where registers run out, Unrolled is less than
// Dim / 16.
template <int Dim, int Unrolled, int Blocks, int Columns, typename Load>
__device__ __forceinline__ void multiply_by_rows(float (&sum)[Blocks][Columns][4], Load load_a,
                                                 const std::uint16_t* b) {
  const int lane = thread_anew() % 32;
#pragma unroll Unrolled
  for (int k = 0; k < Dim / 16; ++k) {
    std::uint32_t a[Blocks][4];
#pragma unroll
    for (int m = 0; m < Blocks; ++m) load_a(a[m], m, k);
#pragma unroll
    for (int n = 0; n < Columns; n += 2) {
      std::uint32_t pair[4];
      load_matrices(pair,
                    b + tile_place<Dim>(n * 8 + lane / 16 * 8 + lane % 8, lane / 8 % 2, 2 * k));
#pragma unroll
      for (int m = 0; m < Blocks; ++m) multiply_pair(sum[m][n], sum[m][n + 1], a[m], pair);
    }
  }
}

// sum[m] += P·B with P as products left it, rounded to bf16, and 8 rows of the tile b for each
// block of 8 columns of P.
template <int Dim, int Blocks, int Columns>
__device__ __forceinline__ void multiply_by_columns(float (&sum)[Blocks][Dim / 8][4],
                                                    const float (&p)[Blocks][Columns][4],
                                                    const std::uint16_t* b) {
  const int lane = thread_anew() % 32;
#pragma unroll
  for (int k = 0; k < Columns; k += 2) {
    std::uint32_t a[Blocks][4];
#pragma unroll
    for (int m = 0; m < Blocks; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[m][i] = pack_bfloat16(p[m][k + i / 2][i % 2 * 2], p[m][k + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int n = 0; n < Dim / 8; n += 2) {
      std::uint32_t pair[4];
      load_matrices_transposed(pair, b + tile_place<Dim>(k * 8 + lane % 16, lane / 16, n));
#pragma unroll
      for (int m = 0; m < Blocks; ++m) multiply_pair(sum[m][n], sum[m][n + 1], a[m], pair);
    }
  }
}

}  // namespace cb::kernels
