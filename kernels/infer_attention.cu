// Attention of one token a sequence over a cache, divided by positions so that a single sequence
// fills a device too: a block has a chunk of positions of all heads that share keys and values, and
// reads them once. A second kernel joins the chunks (Dao et al., "Flash-Decoding", 2023).
#include "kernels/bfloat16.h"
#include "kernels/infer_chunk_wide.h"
#include "kernels/wide_block.h"

namespace cb::kernels {
namespace {

using namespace infer_detail;

struct ChunkSums {
  float value[chunk_heads * block_threads];
};

__device__ float cached(const float* from) { return *from; }
__device__ float cached(const std::uint16_t* from) { return from_bfloat16(*from); }

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
  const auto* keys = keys_of<Element>(a, c);
  const Index apart = parts_apart(a);
  float* parts = parts_of(a, c);
  score_chunk(a, c, keys, scores);
  __syncthreads();
  weigh_chunk(c, scores, parts, apart);
  __syncthreads();
  gather_chunk(a, c, keys + a.kv_heads * a.dim, scores, sums, parts, apart);
}

// Of a block: columns of a head's output, and groups of threads that share the chunks.
constexpr int join_columns = 128, join_groups = static_cast<int>(wide_threads) / join_columns;
struct JoinWeights {
  float value[wide_threads];
};
struct JoinSums {
  float value[join_groups][join_columns];
};

// What a column's group adds of the chunks. The weights of as many of them as there are threads lie
// in shared memory at a time.
__device__ float joined(const float* parts, Index each, Index used, float top, Index column,
                        bool has_column, JoinWeights& weights) {
  const int group = static_cast<int>(threadIdx.x) / join_columns;
  float sum = 0;
  for (Index first = 0; first < used; first += wide_threads) {
    const Index own = first + threadIdx.x, count = min(Index{wide_threads}, used - first);
    __syncthreads();
    if (own < used) weights.value[threadIdx.x] = expf(parts[own * each] - top);
    __syncthreads();
    if (!has_column) continue;
#pragma unroll 4
    for (Index c = group; c < count; c += join_groups)
      sum += parts[(first + c) * each + 2 + column] * weights.value[c];
  }
  return sum;
}

// A block has a head of a sequence.
__global__ void __launch_bounds__(wide_threads) infer_join_chunks(InferAttention a) {
  CB_SHARED(JoinWeights, weights);
  CB_SHARED(JoinSums, sums);
  const Index head = Index{blockIdx.x} * a.heads + blockIdx.y;
  const Index used = infer_chunks(positions_seen(a)), each = a.dim + 2;
  const float* parts = a.parts + head * infer_chunks(a.capacity) * each;
  float top = -INFINITY, mine = 0;
  for (Index c = threadIdx.x; c < used; c += wide_threads) top = fmaxf(top, parts[c * each]);
  top = wide_max(top);
  for (Index c = threadIdx.x; c < used; c += wide_threads)
    mine += parts[c * each + 1] * expf(parts[c * each] - top);
  const float factor = 1.0F / wide_sum(mine);
  const int group = static_cast<int>(threadIdx.x) / join_columns;
  const int column = static_cast<int>(threadIdx.x) % join_columns;
  for (Index i = column; i - column < a.dim; i += join_columns) {
    sums.value[group][column] = joined(parts, each, used, top, i, i < a.dim, weights);
    __syncthreads();
    if (group == 0 && i < a.dim) {
      float sum = 0;
      for (int from = 0; from < join_groups; ++from) sum += sums.value[from][column];
      const Index to = head * a.dim + i;
      if (a.narrow_out)
        static_cast<std::uint16_t*>(a.out)[to] = to_bfloat16(sum * factor);
      else
        static_cast<float*>(a.out)[to] = sum * factor;
    }
    __syncthreads();
  }
}

template <bool Narrow>
int start_chunks(const InferAttention& a, const dim3& blocks, void* stream) {
  const Shape shape{blocks, block_threads};
  switch (lanes_of_row<Narrow>(a)) {
    case 8:
      return launch<infer_chunk_wide<Narrow, 8>>(shape, stream, a);
    case 16:
      return launch<infer_chunk_wide<Narrow, 16>>(shape, stream, a);
    case 32:
      return launch<infer_chunk_wide<Narrow, 32>>(shape, stream, a);
    default:
      break;
  }
  return launch<infer_chunk_attention<typename Sixteen<Narrow>::Element>>(shape, stream, a);
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
      a.narrow ? start_chunks<true>(a, blocks, stream) : start_chunks<false>(a, blocks, stream);
  if (code != cudaSuccess) return code;
  const dim3 heads(static_cast<unsigned>(a.sequences), static_cast<unsigned>(a.heads));
  return launch<infer_join_chunks>({heads, wide_threads}, stream, a);
}

}  // namespace cb::kernels
