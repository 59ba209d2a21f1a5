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

// Whether a row before this one has its token. All threads of the block must come.
__device__ bool came_before(const std::int32_t* tokens, Index row) {
  unsigned found = 0;
  for (Index i = threadIdx.x; i < row; i += block_threads)
    found += tokens[i] == tokens[row] ? 1U : 0U;
  return block_sum(found) != 0;
}

// A block has a row and some columns. Where the row's token comes for the first time, it adds all
// rows of this token in their order; a warp looks at 32 rows at once.
__global__ void __launch_bounds__(block_threads)
    train_embed_backward(const float* dout, float* dtable, TrainEmbedding e) {
  const Index column = loop_begin();
  for (Index first = blockIdx.y; first < e.rows; first += gridDim.y) {
    const std::int32_t token = e.tokens[first];
    if (!held(token, e.first, e.count) || came_before(e.tokens, first)) continue;
    float* to = dtable + (token - e.first) * e.width + column;
    float sum = column < e.width ? *to : 0;
    for (Index r = first; r < e.rows; r += 32) {
      const Index mine = r + threadIdx.x % 32;
      unsigned same = __ballot_sync(~0U, mine < e.rows && e.tokens[mine] == token);
      for (; same != 0; same &= same - 1)
        if (column < e.width)
          sum += dout[(r + __ffs(static_cast<int>(same)) - 1) * e.width + column];
    }
    if (column < e.width) *to = sum;
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
  for (Index r = blockIdx.x; r < l.rows; r += gridDim.x) {
    float* x = l.logits + r * l.width;
    const Index target = l.targets[r] - l.first;
    const float scale = factor / l.sums[r];
    for (Index i = threadIdx.x; i < l.width; i += block_threads)
      x[i] = i == target ? x[i] * scale - factor : x[i] * scale;
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
  if (e.rows == 0) return cudaSuccess;
  const auto columns = static_cast<unsigned>((e.width + block_threads - 1) / block_threads);
  const auto rows = static_cast<unsigned>(e.rows < 65535 ? e.rows : 65535);
  return launch<train_embed_backward>({dim3(columns, rows), block_threads}, stream, dout, dtable,
                                      e);
}

int launch_train_row_max(const TrainLogits& l, void* stream) {
  return launch<train_row_max>({one_a_logit_row(l.rows), block_threads}, stream, l);
}

int launch_train_exponentials(const TrainLogits& l, void* stream) {
  return launch<train_exponentials>({one_a_logit_row(l.rows), block_threads}, stream, l);
}

int launch_train_logits_backward(const TrainLogits& l, float factor, void* stream) {
  return launch<train_logits_backward>({one_a_logit_row(l.rows), block_threads}, stream, l, factor);
}

int launch_train_cross_entropy(const TrainLogits& l, double* out, void* stream) {
  return launch<train_cross_entropy>({1, block_threads}, stream, l, out);
}

}  // namespace cb::kernels
