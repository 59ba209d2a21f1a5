// Attention over a chunk of positions whose keys and values are read 16 bytes a thread: heads of
// 64, 128 or 256 elements of bf16, or of half as many of fp32. So many threads as a row has pieces
// share a position, and all that a thread reads is on its way before it is used.
#pragma once

#include "kernels/infer_chunk.h"
#include "kernels/sixteen_bytes.h"

namespace cb::kernels::infer_detail {

constexpr int heads_at_once = 4;  // of which sums lie in shared memory

// Sums of heads' values, of each warp.
template <int Elements>
struct WarpValues {
  float value[heads_at_once][block_threads / 32][Elements];
};

// Threads that share a row, of a kernel that there is; else 0.
template <bool Narrow>
int lanes_of_row(const InferAttention& a) {
  const Index bytes = Narrow ? 2 : 4, lanes = a.dim * bytes / 16;
  const bool there = (lanes == 8 || lanes == 16 || lanes == 32) && a.dim * bytes % 16 == 0;
  return there && stands_at_16(a.cache, 0, bytes) && stands_at_16(a.q, a.stride, 4)
             ? static_cast<int>(lanes)
             : 0;
}

template <bool Narrow, int Lanes>
struct WideChunk {
  using Piece = Sixteen<Narrow>;
  using Element = typename Piece::Element;
  static constexpr int each = Piece::count;                               // elements of a thread
  static constexpr int groups = static_cast<int>(block_threads) / Lanes;  // positions at a time
  static constexpr int turns = static_cast<int>(chunk_positions) / groups;

  const InferAttention& a;
  const Chunk& c;
  int piece = static_cast<int>(threadIdx.x) % Lanes, group = static_cast<int>(threadIdx.x) / Lanes;

  __device__ void read(uint4 (&to)[turns], const Element* rows) const {
#pragma unroll
    for (int i = 0; i < turns; ++i) {
      const int p = group + i * groups;
      to[i] = uint4{0, 0, 0, 0};
      if (p < c.count) to[i] = load_once(rows + p * (2 * a.kv_heads * a.dim) + piece * each);
    }
  }
  __device__ void score(const uint4 (&keys)[turns], ChunkScores& scores) const {
    float q[chunk_heads][each] = {};
    const float* from = a.q + c.sequence * a.stride + c.head * a.dim + piece * each;
#pragma unroll
    for (int h = 0; h < chunk_heads; ++h)
      for (int e = 0; e < each; e += 4)
        if (h < c.heads) load_four(q[h] + e, from + h * a.dim + e);
#pragma unroll
    for (int i = 0; i < turns; ++i) {
      const Piece key(keys[i]);
      const int p = group + i * groups;
#pragma unroll
      for (int h = 0; h < chunk_heads; ++h) {
        if (h >= c.heads) break;  // the same for all of a block
        float dot = 0;
        for (int e = 0; e < each; ++e) dot += q[h][e] * key.value[e];
        for (int apart = Lanes / 2; apart > 0; apart /= 2) dot += __shfl_xor_sync(~0U, dot, apart);
        if (piece == 0 && p < c.count) scores.value[h][p] = dot * a.scale;
      }
    }
  }
  // The values' sums of one head, of the positions of this thread's warp: a row's elements.
  __device__ void gather(const uint4 (&values)[turns], const float* weights, float* to) const {
    float sums[each] = {};
#pragma unroll
    for (int i = 0; i < turns; ++i) {
      const int p = group + i * groups;
      if (p >= c.count) continue;
      const Piece value(values[i]);
      for (int e = 0; e < each; ++e) sums[e] += weights[p] * value.value[e];
    }
    for (int e = 0; e < each; ++e)
      for (int apart = Lanes; apart < 32; apart *= 2)
        sums[e] += __shfl_xor_sync(~0U, sums[e], apart);
    if (threadIdx.x % 32 < Lanes)
      for (int e = 0; e < each; ++e) to[piece * each + e] = sums[e];
  }
};

template <bool Narrow, int Lanes>
__global__ void __launch_bounds__(block_threads, Lanes < 32 ? 2 : 1)
    infer_chunk_wide(InferAttention a) {
  using Wide = WideChunk<Narrow, Lanes>;
  constexpr int elements = Lanes * Wide::each;
  CB_SHARED(ChunkScores, scores);
  CB_SHARED(WarpValues<elements>, all);
  const Chunk c = chunk_of_block(a);
  if (c.count <= 0) return;  // behind the positions that are seen
  const Wide wide{a, c};
  const auto* first = keys_of<typename Wide::Element>(a, c);
  uint4 keys[Wide::turns], values[Wide::turns];
  wide.read(keys, first);
  wide.read(values, first + a.kv_heads * a.dim);
  wide.score(keys, scores);
  __syncthreads();
  weigh_chunk(c, scores, parts_of(a, c), parts_apart(a));
  __syncthreads();
  for (int first_head = 0; first_head < c.heads; first_head += heads_at_once) {
    const int heads = min(heads_at_once, c.heads - first_head);
    for (int h = 0; h < heads; ++h)
      wide.gather(values, scores.value[first_head + h], all.value[h][threadIdx.x / 32]);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < heads * elements;
         i += static_cast<int>(block_threads)) {
      const int h = i / elements, e = i % elements;
      float sum = 0;
      for (unsigned w = 0; w < block_threads / 32; ++w) sum += all.value[h][w][e];
      parts_of(a, c)[(first_head + h) * parts_apart(a) + 2 + e] = sum;
    }
    __syncthreads();
  }
}

}  // namespace cb::kernels::infer_detail
