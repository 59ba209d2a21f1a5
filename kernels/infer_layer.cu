// Products of a layer with what stands behind them, in one launch each: a loop over one row takes
// longer to start than to run.
#include "kernels/bfloat16.h"
#include "kernels/infer_start.h"
#include "kernels/layer_elements.h"
#include "kernels/wide_block.h"

namespace cb::kernels {
namespace {

using namespace infer_detail;

__device__ void keep(void* array, Index at, float value, bool narrow) {
  if (narrow)
    static_cast<std::uint16_t*>(array)[at] = to_bfloat16(value);
  else
    static_cast<float*>(array)[at] = value;
}

// An element of q or k and its partner, half a head away; of v as well.
struct IntoCache {
  float* q;
  InferCache c;
  Index stride;
  bool narrow;
  __device__ Pair pair(Index n) const {
    const Index half = c.dim / 2, low = n / half * c.dim + n % half;
    return {low, low + half};
  }
  __device__ void put(Index row, const Pair& pair, float low, float high) const {
    const Index position = c.position == nullptr ? c.past : static_cast<Index>(*c.position);
    const Index half = c.dim / 2, head = pair.low / c.dim;
    if (head < c.heads + c.kv_heads) {
      const Index at = position * half + pair.low % c.dim;
      const Turned turned = turned_by(low, high, c.cosines[at], c.sines[at], 1.0F);
      low = turned.low;
      high = turned.high;
    }
    if (head < c.heads) {
      q[row * stride + pair.low] = low;
      q[row * stride + pair.high] = high;
      return;
    }
    const Index kept = 2 * c.kv_heads * c.dim;
    const Index to = (row * c.capacity + position) * kept + pair.low - c.heads * c.dim;
    keep(c.cache, to, low, narrow);
    keep(c.cache, to + half, high, narrow);
  }
};

struct OntoStream : Neighbours {
  float* stream;
  Index stride;
  float* mark;
  __device__ void put(Index row, const Pair& pair, float low, float high) const {
    add(row * stride + pair.low, low);
    if (pair.high != pair.low) add(row * stride + pair.high, high);
  }
  __device__ void add(Index to, float sum) const {
    stream[to] += sum;
    if (is_no_number(sum)) set_mark(mark);
  }
};

// A row of the gate, and that of the other matrix, `outputs` behind it.
struct Gated {
  void* y;
  Index stride, outputs;
  bool narrow;
  __device__ Pair pair(Index n) const { return {n, n + outputs}; }
  __device__ void put(Index row, const Pair& pair, float gate, float up) const {
    keep(y, row * stride + pair.low, swiglu_of(gate, up), narrow);
  }
};

// The first turns of a row stay in registers.
constexpr Index norm_kept = 4;

__global__ void __launch_bounds__(wide_threads) infer_norm(InferNorm n) {
  const float* x = n.x + blockIdx.x * n.width;
  const auto place = [](Index turn) { return turn * wide_threads + threadIdx.x; };
  float kept[norm_kept] = {}, gain[norm_kept] = {}, mine = 0;
  for (Index turn = 0; turn < norm_kept; ++turn)
    if (place(turn) < n.width) {
      kept[turn] = x[place(turn)];
      gain[turn] = n.gain[place(turn)];
    }
  for (const float value : kept) mine += value * value;
  for (Index i = place(norm_kept); i < n.width; i += wide_threads) mine += x[i] * x[i];
  const float all = wide_sum(mine);
  const float scale = 1.0F / sqrtf(all / static_cast<float>(n.width) + 1e-5F);
  const Index row = blockIdx.x * n.width;
  for (Index turn = 0; turn < norm_kept; ++turn)
    if (place(turn) < n.width)
      keep(n.y, row + place(turn), kept[turn] * scale * gain[turn], n.narrow);
  for (Index i = place(norm_kept); i < n.width; i += wide_threads)
    keep(n.y, row + i, x[i] * scale * n.gain[i], n.narrow);
}

}  // namespace

int launch_infer_norm(const InferNorm& n, void* stream) {
  if (n.rows == 0) return cudaSuccess;
  if (n.rows > infer_most_tile_rows) return cudaErrorInvalidValue;
  return launch<infer_norm>({static_cast<unsigned>(n.rows), wide_threads}, stream, n);
}

int launch_infer_into_cache(const InferProduct& p, const InferCache& cache, void* stream) {
  if (cache.dim % 2 != 0) return cudaErrorInvalidValue;
  const IntoCache ending{static_cast<float*>(p.y), cache, p.stride_y, p.narrow};
  return start_product(p, p.outputs / 2, ending, stream);
}

int launch_infer_onto_stream(const InferProduct& p, float* mark, void* stream) {
  const OntoStream ending{{p.outputs}, static_cast<float*>(p.y), p.stride_y, mark};
  return start_product(p, ending.pairs(), ending, stream);
}

int launch_infer_gated(const InferProduct& p, void* stream) {
  return start_product(p, p.outputs, Gated{p.y, p.stride_y, p.outputs, p.narrow}, stream);
}

}  // namespace cb::kernels
