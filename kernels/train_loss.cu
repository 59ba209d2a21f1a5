// Embedding and cross entropy, there and back.
#include "kernels/block_sums.h"
#include "kernels/launch.h"
#include "kernels/train.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

__device__ bool held(Index token, Index first, Index count) {
  return token >= first && token < first + count;
}

__global__ void __launch_bounds__(block_threads)
    train_embed(const float* table, float* out, TrainEmbedding e) {
  for (Index i = loop_begin(); i < e.rows * e.width; i += loop_step()) {
    const Index token = e.tokens[i / e.width];
    out[i] = held(token, e.first, e.count) ? table[(token - e.first) * e.width + i % e.width] : 0;
  }
}

// A thread has a column, so that each row of the table gets its tokens in their order.
constexpr unsigned column_threads = 64;
__global__ void __launch_bounds__(column_threads)
    train_embed_backward(const float* dout, float* dtable, TrainEmbedding e) {
  const Index column = loop_begin();
  if (column >= e.width) return;
  for (Index r = 0; r < e.rows; ++r) {
    const Index token = e.tokens[r];
    if (held(token, e.first, e.count))
      dtable[(token - e.first) * e.width + column] += dout[r * e.width + column];
  }
}

__global__ void __launch_bounds__(block_threads) train_row_max(TrainLogits l) {
  for (Index r = blockIdx.x; r < l.rows; r += gridDim.x) {
    float top = -INFINITY;
    for (Index i = threadIdx.x; i < l.width; i += block_threads)
      top = fmaxf(top, l.logits[r * l.width + i]);
    top = block_max(top);
    if (threadIdx.x == 0) l.top[r] = top;
  }
}

__global__ void __launch_bounds__(block_threads) train_exponentials(TrainLogits l) {
  for (Index r = blockIdx.x; r < l.rows; r += gridDim.x) {
    float* x = l.logits + r * l.width;
    const float top = l.top[r];
    const Index target = l.targets[r] - l.first;
    if (threadIdx.x == 0 && !held(target, 0, l.width)) l.at_target[r] = 0;
    float mine = 0;
    for (Index i = threadIdx.x; i < l.width; i += block_threads) {
      if (i == target) l.at_target[r] = x[i] - top;
      mine += x[i] = expf(x[i] - top);
    }
    const float sum = block_sum(mine);
    if (threadIdx.x == 0) l.sums[r] = sum;
  }
}

__global__ void __launch_bounds__(block_threads)
    train_logits_backward(TrainLogits l, float factor) {
  for (Index i = loop_begin(); i < l.rows * l.width; i += loop_step()) {
    const Index r = i / l.width;
    const float share = l.logits[i] * (factor / l.sums[r]);
    l.logits[i] = i % l.width == l.targets[r] - l.first ? share - factor : share;
  }
}

// One block, in double precision: thousands of rows.
__global__ void __launch_bounds__(block_threads) train_cross_entropy(TrainLogits l, double* out) {
  double mine = 0;
  for (Index r = threadIdx.x; r < l.rows; r += block_threads)
    mine += log(static_cast<double>(l.sums[r])) - static_cast<double>(l.at_target[r]);
  const double sum = block_sum(mine);
  if (threadIdx.x == 0) *out = sum;
}

unsigned one_a_logit_row(Index rows) {
  return static_cast<unsigned>(rows < 1 ? 1 : rows < 65535 ? rows : 65535);
}

}  // namespace

int launch_train_embed(const float* table, float* out, const TrainEmbedding& e, void* stream) {
  return launch<train_embed>({blocks_of(e.rows * e.width), block_threads}, stream, table, out, e);
}

int launch_train_embed_backward(const float* dout, float* dtable, const TrainEmbedding& e,
                                void* stream) {
  const auto blocks = static_cast<unsigned>((e.width + column_threads - 1) / column_threads);
  return launch<train_embed_backward>({blocks, column_threads}, stream, dout, dtable, e);
}

int launch_train_row_max(const TrainLogits& l, void* stream) {
  return launch<train_row_max>({one_a_logit_row(l.rows), block_threads}, stream, l);
}

int launch_train_exponentials(const TrainLogits& l, void* stream) {
  return launch<train_exponentials>({one_a_logit_row(l.rows), block_threads}, stream, l);
}

int launch_train_logits_backward(const TrainLogits& l, float factor, void* stream) {
  return launch<train_logits_backward>({blocks_of(l.rows * l.width), block_threads}, stream, l,
                                       factor);
}

int launch_train_cross_entropy(const TrainLogits& l, double* out, void* stream) {
  return launch<train_cross_entropy>({1, block_threads}, stream, l, out);
}

}  // namespace cb::kernels
