// Dispatch and combine of a mixture of experts on one rank's GPU.
#include "kernels/moe.h"

#include "kernels/block_sums.h"
#include "kernels/launch.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

__device__ bool goes_to(const MoeRoutes& r, Index token, int rank) {
  for (int i = 0; i < r.top_k; ++i)
    if (r.experts[token * r.top_k + i] / r.experts_of_rank == rank) return true;
  return false;
}

// A block has a receiving rank, and counts its tokens in their order.
__global__ void __launch_bounds__(block_threads) moe_places(MoeRoutes r) {
  CB_SHARED(OfWarps<int>, votes);
  const int rank = static_cast<int>(blockIdx.x);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int before = 0;
  for (Index first = 0; first < r.tokens; first += block_threads) {
    const Index token = first + threadIdx.x;
    const bool goes = token < r.tokens && goes_to(r, token, rank);
    const unsigned vote = __ballot_sync(~0U, goes ? 1 : 0);
    if (lane == 0) votes.value[warp] = __popc(vote);
    __syncthreads();
    int place = before + __popc(vote & ((1U << lane) - 1U));
    for (unsigned w = 0; w < block_threads / 32; ++w) {
      if (w < warp) place += votes.value[w];
      before += votes.value[w];
    }
    if (token < r.tokens) r.places[token * r.ranks + rank] = goes ? place : -1;
    __syncthreads();  // the next round writes the same variable
  }
  if (threadIdx.x == 0) r.counts[rank] = before;
}

template <typename Word>
__device__ void copy_payload(const MoePack& p, Index token, unsigned char* row) {
  const auto* from = reinterpret_cast<const Word*>(p.token + token * p.payload_bytes);
  auto* to = reinterpret_cast<Word*>(row);
  const Index words = p.payload_bytes / static_cast<Index>(sizeof(Word));
  for (Index i = threadIdx.x; i < words; i += block_threads) to[i] = from[i];
}

// The word of this number behind a row's payload.
__device__ std::uint32_t label_word(const MoePack& p, Index token, int rank, Index i) {
  const MoeRoutes& r = p.routes;
  if (i == 0) return static_cast<std::uint32_t>(p.rank);
  if (i == 1) return static_cast<std::uint32_t>(token);
  const Index choice = (i - 2) % r.top_k, part = (i - 2) / r.top_k;
  if (part > 1) return 0;
  const std::int32_t expert = r.experts[token * r.top_k + choice];
  const bool here = expert / r.experts_of_rank == rank;
  if (part == 0) return static_cast<std::uint32_t>(here ? expert : -1);
  return here ? __float_as_uint(p.weights[token * r.top_k + choice]) : 0;
}

// A block has a token, and writes each of its rows.
__global__ void __launch_bounds__(block_threads) moe_pack(MoePack p) {
  const MoeRoutes& r = p.routes;
  const Index token = blockIdx.x;
  Index first = 0;  // row of this rank
  for (int rank = 0; rank < r.ranks; first += r.counts[rank++]) {
    const Index place = r.places[token * r.ranks + rank];
    if (place < 0) continue;
    unsigned char* row = p.row + (first + place) * p.row_bytes;
    if (p.payload_bytes % 16 == 0)
      copy_payload<uint4>(p, token, row);
    else
      copy_payload<std::uint32_t>(p, token, row);
    auto* label = reinterpret_cast<std::uint32_t*>(row + p.payload_bytes);
    const Index words = (p.row_bytes - p.payload_bytes) / 4;
    for (Index i = threadIdx.x; i < words; i += block_threads)
      label[i] = label_word(p, token, rank, i);
  }
}

__device__ float4 plus(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Four elements of a row. The first of two bf16 is in the lower half of their word.
__device__ float4 four_of(const MoeAdd& a, Index row, Index column) {
  const Index at = (row * a.width + column) / 4;
  if (!a.narrow) return static_cast<const float4*>(a.row)[at];
  const uint2 two = static_cast<const uint2*>(a.row)[at];
  return make_float4(__uint_as_float(two.x << 16), __uint_as_float(two.x & 0xffff0000U),
                     __uint_as_float(two.y << 16), __uint_as_float(two.y & 0xffff0000U));
}

// A block has a token, a thread four of its elements.
__global__ void __launch_bounds__(block_threads) moe_add(MoeAdd a) {
  const MoeRoutes& r = a.routes;
  const Index token = blockIdx.x;
  for (Index column = 4 * threadIdx.x; column < a.width; column += Index{4} * block_threads) {
    float4 sum = make_float4(0, 0, 0, 0);
    Index first = 0;
    for (int rank = 0; rank < r.ranks; first += r.counts[rank++]) {
      const Index place = r.places[token * r.ranks + rank];
      if (place >= 0) sum = plus(sum, four_of(a, first + place, column));
    }
    reinterpret_cast<float4*>(a.sum)[(token * a.width + column) / 4] = sum;
  }
}

}  // namespace

int launch_moe_places(const MoeRoutes& r, void* stream) {
  return launch<moe_places>({static_cast<unsigned>(r.ranks), block_threads}, stream, r);
}

int launch_moe_pack(const MoePack& p, void* stream) {
  if (p.routes.tokens == 0) return cudaSuccess;
  return launch<moe_pack>({static_cast<unsigned>(p.routes.tokens), block_threads}, stream, p);
}

int launch_moe_add(const MoeAdd& a, void* stream) {
  if (a.routes.tokens == 0) return cudaSuccess;
  return launch<moe_add>({static_cast<unsigned>(a.routes.tokens), block_threads}, stream, a);
}

}  // namespace cb::kernels
