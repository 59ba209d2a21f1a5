// The choice of the next token, and its row of the embedding.
#include <cfloat>

#include "kernels/block_sums.h"
#include "kernels/infer.h"
#include "kernels/launch.h"
#include "kernels/layer_elements.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

// Numbers of tokens are exact in fp32. The first token is the largest of their negatives.
__global__ void __launch_bounds__(block_threads) infer_choice(InferChoice c) {
  for (Index r = blockIdx.x; r < c.rows; r += gridDim.x) {
    const float top = c.top[r];
    float mine = -INFINITY;
    for (Index i = threadIdx.x; i < c.width; i += block_threads)
      if (c.logits[r * c.width + i] == top) mine = fmaxf(mine, -static_cast<float>(c.first + i));
    mine = block_max(mine);
    if (threadIdx.x == 0) c.candidates[r] = mine == -INFINITY ? -FLT_MAX : mine;
  }
  if (blockIdx.x != 0) return;
  float marked = 0;
  for (Index i = threadIdx.x; i < c.marks_count; i += block_threads) marked += c.marks[i];
  marked = block_sum(marked);
  if (threadIdx.x == 0) c.candidates[c.rows] = marked > 0 ? 1.0F : 0.0F;
}

__global__ void __launch_bounds__(block_threads) infer_embed(InferEmbedding e) {
  for (Index i = loop_begin(); i < e.rows * e.width; i += loop_step()) {
    const Index token = static_cast<Index>(-e.candidates[i / e.width]) - e.first;
    e.out[i] = token >= 0 && token < e.count ? e.table[token * e.width + i % e.width] : 0;
  }
}

__global__ void __launch_bounds__(block_threads)
    infer_mark(const float* x, Index count, float* mark) {
  unsigned bad = 0;
  for (Index i = loop_begin(); i < count; i += loop_step()) bad += is_no_number(x[i]) ? 1 : 0;
  bad = block_sum(bad);
  if (threadIdx.x == 0 && bad != 0) set_mark(mark);
}

}  // namespace

int launch_infer_choice(const InferChoice& c, void* stream) {
  const auto blocks = static_cast<unsigned>(c.rows < 1 ? 1 : c.rows < 65535 ? c.rows : 65535);
  return launch<infer_choice>({blocks, block_threads}, stream, c);
}

int launch_infer_embed(const InferEmbedding& e, void* stream) {
  return launch<infer_embed>({blocks_of(e.rows * e.width), block_threads}, stream, e);
}

int launch_infer_mark(const float* x, std::int64_t count, float* mark, void* stream) {
  return launch<infer_mark>({blocks_of(count), block_threads}, stream, x, count, mark);
}

}  // namespace cb::kernels
