// Products of a layer with what stands between them, in one launch each: a loop over one row takes
// longer to start than to run.
#include "kernels/bfloat16.h"
#include "kernels/infer_start.h"
#include "kernels/layer_elements.h"

namespace cb::kernels {
namespace {

using namespace infer_detail;

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
    keep(to, low);
    keep(to + half, high);
  }
  __device__ void keep(Index to, float value) const {
    if (narrow)
      static_cast<std::uint16_t*>(c.cache)[to] = to_bfloat16(value);
    else
      static_cast<float*>(c.cache)[to] = value;
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
  float* y;
  Index stride, outputs;
  __device__ Pair pair(Index n) const { return {n, n + outputs}; }
  __device__ void put(Index row, const Pair& pair, float gate, float up) const {
    y[row * stride + pair.low] = swiglu_of(gate, up);
  }
};

}  // namespace

int launch_infer_into_cache(const InferProduct& p, const InferCache& cache, void* stream) {
  if (cache.dim % 2 != 0) return cudaErrorInvalidValue;
  return start_product<true>(p, p.outputs / 2, IntoCache{p.y, cache, p.stride_y, p.narrow}, stream);
}

int launch_infer_onto_stream(const InferProduct& p, float* mark, void* stream) {
  const OntoStream ending{{p.outputs}, p.y, p.stride_y, mark};
  return start_product<false>(p, ending.pairs(), ending, stream);
}

int launch_infer_gated(const InferProduct& p, void* stream) {
  return start_product<true>(p, p.outputs, Gated{p.y, p.stride_y, p.outputs}, stream);
}

}  // namespace cb::kernels
