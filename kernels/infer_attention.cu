// Attention of one token a sequence over a cache, divided by positions so that a single sequence
// fills a device too: a block has a chunk of positions of all heads that share keys and values, and
// reads them once. A second kernel joins the chunks (Dao et al., "Flash-Decoding", 2023).
#include "kernels/bfloat16.h"
#include "kernels/block_sums.h"
#include "kernels/infer.h"
#include "kernels/launch.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

constexpr int chunk_heads = 8;  // that a block has at a time: one a warp
constexpr Index chunk_positions = infer_chunk;
static_assert(chunk_heads == block_threads / 32);

struct ChunkScores {
  float value[chunk_heads][chunk_positions];
};
struct ChunkSums {
  float value[chunk_heads * block_threads];
};

__device__ float cached(const float* from) { return *from; }
__device__ float cached(const std::uint16_t* from) { return from_bfloat16(*from); }

__device__ Index positions_seen(const InferAttention& a) {
  return (a.position == nullptr ? a.past : static_cast<Index>(*a.position)) + 1;
}

// What one block computes.
struct Chunk {
  Index sequence, kv, head;  // the first of its heads
  int heads;
  Index first;  // position
  int count;
};

__device__ Chunk chunk_of_block(const InferAttention& a) {
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

// A warp has a position after the other.
template <typename Element>
__device__ void score_chunk(const InferAttention& a, const Chunk& c, const Element* keys,
                            ChunkScores& scores) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const float* q = a.q + c.sequence * a.stride + c.head * a.dim;
  for (int p = static_cast<int>(threadIdx.x / 32); p < c.count; p += chunk_heads) {
    const Element* k = keys + p * (2 * a.kv_heads * a.dim);
    float dot[chunk_heads] = {};
    for (Index i = lane; i < a.dim; i += 32) {
      const float value = cached(k + i);
#pragma unroll
      for (int h = 0; h < chunk_heads; ++h)
        if (h < c.heads) dot[h] += q[h * a.dim + i] * value;
    }
#pragma unroll
    for (int h = 0; h < chunk_heads; ++h) {
      if (h >= c.heads) break;  // the same for all of a block
      for (int lanes = 16; lanes > 0; lanes /= 2) dot[h] += __shfl_xor_sync(~0U, dot[h], lanes);
      if (lane == 0) scores.value[h][p] = dot[h] * a.scale;
    }
  }
}

// Scores become e^(score − top); a warp has a head. part: top, sum, and then the values.
__device__ void weigh_chunk(const Chunk& c, ChunkScores& scores, float* parts, Index apart) {
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

// A thread has an element of the values and some of the positions, for all heads.
template <typename Element>
__device__ void gather_chunk(const InferAttention& a, const Chunk& c, const Element* values,
                             const ChunkScores& scores, ChunkSums& sums, float* parts,
                             Index apart) {
  const int width = static_cast<int>(min(a.dim, Index{block_threads}));
  const int groups = static_cast<int>(block_threads) / width;
  const int group = static_cast<int>(threadIdx.x) / width;
  const int column = static_cast<int>(threadIdx.x) % width;
  for (Index begin = 0; begin < a.dim; begin += width) {
    float sum[chunk_heads] = {};
    if (group < groups && begin + column < a.dim) {
      for (int p = group; p < c.count; p += groups) {
        const float value = cached(values + p * (2 * a.kv_heads * a.dim) + begin + column);
#pragma unroll
        for (int h = 0; h < chunk_heads; ++h)
          if (h < c.heads) sum[h] += scores.value[h][p] * value;
      }
    }
    if (group < groups)
      for (int h = 0; h < c.heads; ++h) sums.value[(group * c.heads + h) * width + column] = sum[h];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < c.heads * width;
         i += static_cast<int>(block_threads)) {
      const int h = i / width;
      float all = 0;
      for (int g = 0; g < groups; ++g) all += sums.value[(g * c.heads + h) * width + i % width];
      if (begin + i % width < a.dim) parts[h * apart + 2 + begin + i % width] = all;
    }
    __syncthreads();
  }
}

template <typename Element>
__global__ void __launch_bounds__(block_threads) infer_chunk_attention(InferAttention a) {
  CB_SHARED(ChunkScores, scores);
  CB_SHARED(ChunkSums, sums);
  const Chunk c = chunk_of_block(a);
  if (c.count <= 0) return;  // behind the positions that are seen
  const Index kept = 2 * a.kv_heads * a.dim;
  const Element* keys = static_cast<const Element*>(a.cache) +
                        (c.sequence * a.capacity + c.first) * kept + c.kv * a.dim;
  const Index apart = infer_chunks(a.capacity) * (a.dim + 2);  // of neighbouring heads
  float* parts = a.parts + (c.sequence * a.heads + c.head) * apart + blockIdx.z * (a.dim + 2);
  score_chunk(a, c, keys, scores);
  __syncthreads();
  weigh_chunk(c, scores, parts, apart);
  __syncthreads();
  gather_chunk(a, c, keys + a.kv_heads * a.dim, scores, sums, parts, apart);
}

struct JoinWeights {
  float value[block_threads];
};

// A block has a head of a sequence. The weights of as many chunks as it has threads lie in shared
// memory at a time.
__global__ void __launch_bounds__(block_threads) infer_join_chunks(InferAttention a) {
  const Index head = Index{blockIdx.x} * a.heads + blockIdx.y;
  CB_SHARED(JoinWeights, weights);
  const Index used = infer_chunks(positions_seen(a)), each = a.dim + 2;
  const float* parts = a.parts + head * infer_chunks(a.capacity) * each;
  float top = -INFINITY, mine = 0;
  for (Index c = threadIdx.x; c < used; c += block_threads) top = fmaxf(top, parts[c * each]);
  top = block_max(top);
  for (Index c = threadIdx.x; c < used; c += block_threads)
    mine += parts[c * each + 1] * expf(parts[c * each] - top);
  const float factor = 1.0F / block_sum(mine);
  for (Index begin = 0; begin < a.dim; begin += block_threads) {
    const Index i = begin + threadIdx.x;
    float sum = 0;
    for (Index first = 0; first < used; first += block_threads) {
      const Index own = first + threadIdx.x, count = min(Index{block_threads}, used - first);
      __syncthreads();
      if (own < used) weights.value[threadIdx.x] = expf(parts[own * each] - top);
      __syncthreads();
      if (i >= a.dim) continue;
      for (Index c = 0; c < count; ++c) sum += parts[(first + c) * each + 2 + i] * weights.value[c];
    }
    if (i >= a.dim) continue;
    if (a.narrow_out)
      static_cast<std::uint16_t*>(a.out)[head * a.dim + i] = to_bfloat16(sum * factor);
    else
      static_cast<float*>(a.out)[head * a.dim + i] = sum * factor;
  }
}

}  // namespace

int launch_infer_attention(const InferAttention& a, void* stream) {
  if (a.sequences == 0) return cudaSuccess;
  const Index share = a.heads / a.kv_heads;
  const Index rows = a.kv_heads * ((share + chunk_heads - 1) / chunk_heads);
  const Index chunks =
      infer_chunks(a.capacity);  // of a sequence; only x has more than 65,535 blocks
  if (chunks > 65535 || a.heads > 65535) return cudaErrorInvalidValue;
  const dim3 blocks(static_cast<unsigned>(a.sequences), static_cast<unsigned>(rows),
                    static_cast<unsigned>(chunks));
  const int code =
      a.narrow ? launch<infer_chunk_attention<std::uint16_t>>({blocks, block_threads}, stream, a)
               : launch<infer_chunk_attention<float>>({blocks, block_threads}, stream, a);
  if (code != cudaSuccess) return code;
  const dim3 heads(static_cast<unsigned>(a.sequences), static_cast<unsigned>(a.heads));
  return launch<infer_join_chunks>({heads, block_threads}, stream, a);
}

}  // namespace cb::kernels
