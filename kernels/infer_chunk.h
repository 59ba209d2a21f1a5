// What kernels of attention over a chunk of positions share.
#pragma once

#include "kernels/block_sums.h"
#include "kernels/infer.h"
#include "kernels/launch.h"

namespace cb::kernels::infer_detail {

using Index = std::int64_t;

constexpr int chunk_heads = 8;  // that a block has at a time: one a warp
constexpr Index chunk_positions = infer_chunk;
static_assert(chunk_heads == block_threads / 32);

struct ChunkScores {
  float value[chunk_heads][chunk_positions];
};

__device__ inline Index positions_seen(const InferAttention& a) {
  return (a.position == nullptr ? a.past : static_cast<Index>(*a.position)) + 1;
}

// What one block computes.
struct Chunk {
  Index sequence, kv, head;  // the first of its heads
  int heads;
  Index first;  // position
  int count;
};

__device__ inline Chunk chunk_of_block(const InferAttention& a) {
  const Index share = a.heads / a.kv_heads;
  const Index rounds = (share + chunk_heads - 1) / chunk_heads;
  const Index kv = blockIdx.y / rounds, begin = blockIdx.y % rounds * chunk_heads;
  const Index first = Index{blockIdx.z} * chunk_positions;
  return {blockIdx.x,
          kv,
          kv * share + begin,
          static_cast<int>(min(Index{chunk_heads}, share - begin)),
          first,
          static_cast<int>(min(chunk_positions, positions_seen(a) - first))};
}

// Where the chunk's first key of its heads is; values are kv_heads·dim elements behind keys.
template <typename Element>
__device__ const Element* keys_of(const InferAttention& a, const Chunk& c) {
  return static_cast<const Element*>(a.cache) +
         (c.sequence * a.capacity + c.first) * (2 * a.kv_heads * a.dim) + c.kv * a.dim;
}
// Elements of `parts` between neighbouring heads, and where the chunk's first head begins.
__device__ inline Index parts_apart(const InferAttention& a) {
  return infer_chunks(a.capacity) * (a.dim + 2);
}
__device__ inline float* parts_of(const InferAttention& a, const Chunk& c) {
  return a.parts + (c.sequence * a.heads + c.head) * parts_apart(a) + blockIdx.z * (a.dim + 2);
}

// Scores become e^(score − top); a warp has a head. part: top, sum, and then the values.
__device__ inline void weigh_chunk(const Chunk& c, ChunkScores& scores, float* parts, Index apart) {
  const int lane = static_cast<int>(threadIdx.x % 32), head = static_cast<int>(threadIdx.x / 32);
  if (head >= c.heads) return;
  float* mine = scores.value[head];
  float top = -INFINITY, sum = 0;
  for (int p = lane; p < c.count; p += 32) top = fmaxf(top, mine[p]);
  for (int lanes = 16; lanes > 0; lanes /= 2) top = fmaxf(top, __shfl_xor_sync(~0U, top, lanes));
  for (int p = lane; p < c.count; p += 32) sum += mine[p] = expf(mine[p] - top);
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0U, sum, lanes);
  if (lane != 0) return;
  parts[head * apart] = top;
  parts[head * apart + 1] = sum;
}

}  // namespace cb::kernels::infer_detail
