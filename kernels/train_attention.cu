// Softmax of causal scores, there and back; the products around it are the library's. A block has
// a row of one head.
#include "kernels/block_sums.h"
#include "kernels/launch.h"
#include "kernels/train.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

__global__ void __launch_bounds__(block_threads) train_softmax(TrainScores s) {
  for (Index at = blockIdx.x; at < s.heads * s.rows; at += gridDim.x) {
    const Index head = at / s.rows, row = at % s.rows;
    const Index seen = min(s.columns, s.first + row + 1);
    float* x = s.scores + at * s.columns;
    float top = -INFINITY;
    for (Index i = threadIdx.x; i < seen; i += block_threads) top = fmaxf(top, x[i]);
    top = block_max(top);
    float mine = 0;
    for (Index i = threadIdx.x; i < seen; i += block_threads) mine += x[i] = expf(x[i] - top);
    const float sum = block_sum(mine), factor = 1.0F / sum;
    for (Index i = threadIdx.x; i < s.columns; i += block_threads)
      x[i] = i < seen ? x[i] * factor : 0.0F;
    if (threadIdx.x == 0) s.log_sums[head * s.sums_stride + row] = top + logf(sum);
  }
}

__global__ void __launch_bounds__(block_threads) train_probabilities(TrainScores s) {
  for (Index at = blockIdx.x; at < s.heads * s.rows; at += gridDim.x) {
    const Index head = at / s.rows, row = at % s.rows;
    const float log_sum = s.log_sums[head * s.sums_stride + row];
    float* x = s.scores + at * s.columns;
    for (Index i = threadIdx.x; i < s.columns; i += block_threads)
      x[i] = i <= s.first + row ? expf(x[i] - log_sum) : 0.0F;
  }
}

__global__ void __launch_bounds__(block_threads) train_softmax_backward(TrainScoresBackward s) {
  for (Index at = blockIdx.x; at < s.heads * s.rows; at += gridDim.x) {
    const Index head = at / s.rows, row = at % s.rows;
    const Index from = row * s.stride + head * s.dim;
    float mine = 0;
    for (Index i = threadIdx.x; i < s.dim; i += block_threads)
      mine += s.out[from + i] * s.dout[from + i];
    const float dot = block_sum(mine);
    float* dp = s.dp + at * s.columns;
    const float* p = s.p + at * s.columns;
    for (Index i = threadIdx.x; i < s.columns; i += block_threads)
      dp[i] = p[i] * (dp[i] - dot) * s.scale;
  }
}

unsigned one_a_score_row(Index rows) {
  return static_cast<unsigned>(rows < 1 ? 1 : rows < 65535 ? rows : 65535);
}

}  // namespace

int launch_train_softmax(const TrainScores& s, void* stream) {
  return launch<train_softmax>({one_a_score_row(s.heads * s.rows), block_threads}, stream, s);
}

int launch_train_probabilities(const TrainScores& s, void* stream) {
  return launch<train_probabilities>({one_a_score_row(s.heads * s.rows), block_threads}, stream, s);
}

int launch_train_softmax_backward(const TrainScoresBackward& s, void* stream) {
  return launch<train_softmax_backward>({one_a_score_row(s.heads * s.rows), block_threads}, stream,
                                        s);
}

}  // namespace cb::kernels
