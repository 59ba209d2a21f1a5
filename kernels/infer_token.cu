// The choice of the next token, and its row of the embedding.
#include <cfloat>

#include "kernels/block_sums.h"
#include "kernels/infer.h"
#include "kernels/launch.h"
#include "kernels/layer_elements.h"
#include "kernels/sixteen_bytes.h"
#include "kernels/wide_block.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

// Calls use(number, index) for each of a row's: four at once where they can be read so.
template <typename Use>
__device__ void each_of_row(const float* row, Index width, bool in_fours, Use use) {
  const Index fours = in_fours ? width / 4 : 0;
#pragma unroll 4
  for (Index i = threadIdx.x; i < fours; i += wide_threads) {
    const float4 four = reinterpret_cast<const float4*>(row)[i];
    use(four.x, 4 * i);
    use(four.y, 4 * i + 1);
    use(four.z, 4 * i + 2);
    use(four.w, 4 * i + 3);
  }
  for (Index i = 4 * fours + threadIdx.x; i < width; i += wide_threads) use(row[i], i);
}

__global__ void __launch_bounds__(wide_threads)
    infer_row_max(const float* logits, float* top, Index width, bool in_fours) {
  float mine = -INFINITY;
  each_of_row(logits + blockIdx.x * width, width, in_fours,
              [&mine](float x, Index) { mine = fmaxf(mine, x); });
  mine = wide_max(mine);
  if (threadIdx.x == 0) top[blockIdx.x] = mine;
}

// Numbers of tokens are exact in fp32. The first token is the largest of their negatives.
__global__ void __launch_bounds__(wide_threads) infer_choice(InferChoice c, bool in_fours) {
  const Index r = blockIdx.x, first = c.first;
  if (r < c.rows) {
    const float top = c.top[r];
    float mine = -INFINITY;
    each_of_row(c.logits + r * c.width, c.width, in_fours, [&mine, top, first](float x, Index i) {
      if (x == top) mine = fmaxf(mine, -static_cast<float>(first + i));
    });
    mine = wide_max(mine);
    if (threadIdx.x == 0) c.candidates[r] = mine == -INFINITY ? -FLT_MAX : mine;
  }
  if (r != 0) return;
  float marked = 0;
  for (Index i = threadIdx.x; i < c.marks_count; i += wide_threads)
    marked = fmaxf(marked, c.marks[i]);
  marked = wide_max(marked);
  if (threadIdx.x == 0) c.candidates[c.rows] = marked > 0 ? 1.0F : 0.0F;
}

__global__ void __launch_bounds__(block_threads) infer_embed(InferEmbedding e) {
  for (Index i = loop_begin(); i < e.rows * e.width; i += loop_step()) {
    const Index token = static_cast<Index>(-e.candidates[i / e.width]) - e.first;
    e.out[i] = token >= 0 && token < e.count ? e.table[token * e.width + i % e.width] : 0;
  }
}

__global__ void __launch_bounds__(block_threads)
    infer_mark(const float* x, Index count, bool in_fours, float* mark) {
  const Index fours = in_fours ? count / 4 : 0;
  unsigned bad = 0;
#pragma unroll 4
  for (Index i = loop_begin(); i < fours; i += loop_step()) {
    const float4 four = reinterpret_cast<const float4*>(x)[i];
    bad += is_no_number(four.x) || is_no_number(four.y) || is_no_number(four.z) ||
           is_no_number(four.w);
  }
  for (Index i = 4 * fours + loop_begin(); i < count; i += loop_step()) bad += is_no_number(x[i]);
  bad = block_sum(bad);
  if (threadIdx.x == 0 && bad != 0) set_mark(mark);
}

}  // namespace

int launch_infer_row_max(const float* logits, float* top, std::int64_t rows, std::int64_t width,
                         void* stream) {
  if (rows == 0) return cudaSuccess;
  return launch<infer_row_max>({static_cast<unsigned>(rows), wide_threads}, stream, logits, top,
                               width, stands_at_16(logits, width, 4));
}

int launch_infer_choice(const InferChoice& c, void* stream) {
  const auto blocks = static_cast<unsigned>(c.rows < 1 ? 1 : c.rows);
  return launch<infer_choice>({blocks, wide_threads}, stream, c,
                              stands_at_16(c.logits, c.width, 4));
}

int launch_infer_embed(const InferEmbedding& e, void* stream) {
  return launch<infer_embed>({blocks_of(e.rows * e.width), block_threads}, stream, e);
}

int launch_infer_mark(const float* x, std::int64_t count, float* mark, void* stream) {
  constexpr std::int64_t each = 16;  // of a thread
  return launch<infer_mark>({blocks_of((count + each - 1) / each), block_threads}, stream, x, count,
                            stands_at_16(x, 0, 4), mark);
}

}  // namespace cb::kernels
