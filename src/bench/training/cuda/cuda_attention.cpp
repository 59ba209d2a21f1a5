#include "bench/training/cuda/cuda_attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/train.h"

namespace cb::training {
namespace {

using cublaslt::RowMajorProduct;

// The heads of one sequence that share keys and values, and a block of their rows.
struct SharedHeads {
  const AttentionShape& s;
  int64_t batch, kv, first = 0, rows = 0;

  int64_t share() const { return s.heads / s.kv_heads; }
  int64_t columns() const { return s.past + first + rows; }  // that the last row sees
  int64_t wide() const { return s.heads * s.dim; }
  int64_t row0() const { return batch * s.sequence + first; }
  int64_t q() const { return row0() * s.stride() + kv * share() * s.dim; }
  int64_t k() const { return batch * s.sequence * s.stride() + (s.heads + kv) * s.dim; }
  int64_t v() const { return k() + s.kv_heads * s.dim; }
  int64_t out() const { return row0() * wide() + kv * share() * s.dim; }
  int64_t sums() const { return (batch * s.heads + kv * share()) * s.sequence + first; }
  int64_t scores() const { return rows * columns(); }  // of one head
};

// Keys and values that these heads see, from the first position on.
struct SeenBy {
  const float *k, *v;
  int64_t stride;
};

float scale_of(const AttentionShape& s) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(s.dim)));
}

// call(heads) for each block of rows of each group of heads, in the order of the rows.
template <typename Call>
void for_each_block(const AttentionShape& s, int64_t block_rows, Call call) {
  for (int64_t batch = 0; batch < s.batch; ++batch)
    for (int64_t kv = 0; kv < s.kv_heads; ++kv)
      for (int64_t first = 0; first < s.sequence; first += block_rows)
        call(SharedHeads{s, batch, kv, first, std::min(block_rows, s.sequence - first)});
}

// scores = q·kᵀ/√dim of all these heads.
RowMajorProduct scores_product(const SharedHeads& h, const float* qkv, const SeenBy& seen,
                               float* scores) {
  return {.m = h.rows,
          .n = h.columns(),
          .k = h.s.dim,
          .a = qkv + h.q(),
          .lda = h.s.stride(),
          .b = seen.k,
          .ldb = seen.stride,
          .transpose_b = true,
          .c = scores,
          .ldc = h.columns(),
          .alpha = scale_of(h.s),
          .batch = static_cast<int32_t>(h.share()),
          .step_a = h.s.dim,
          .step_b = 0,
          .step_c = h.scores()};
}

// to += scoresᵀ·x of one head after the other, since they share keys and values: in their order.
void add_to_shared(const CudaAttention& t, const SharedHeads& h, const float* scores,
                   const float* x, int64_t stride, float* to) {
  for (int64_t i = 0; i < h.share(); ++i)
    t.multiply({.m = h.columns(),
                .n = h.s.dim,
                .k = h.rows,
                .a = scores + i * h.scores(),
                .lda = h.columns(),
                .transpose_a = true,
                .b = x + i * h.s.dim,
                .ldb = stride,
                .c = to,
                .ldc = h.s.stride(),
                .beta = 1});
}

void forward_block(const CudaAttention& t, const SharedHeads& h, const float* qkv,
                   const SeenBy& seen, float* out, float* log_sums) {
  t.multiply(scores_product(h, qkv, seen, t.scratch));
  t.queue.launched(kernels::launch_train_softmax({t.scratch, log_sums + h.sums(), h.share(), h.rows,
                                                  h.columns(), h.s.past + h.first, h.s.sequence},
                                                 t.queue.stream().handle()),
                   "train_softmax");
  t.multiply({.m = h.rows,
              .n = h.s.dim,
              .k = h.columns(),
              .a = t.scratch,
              .lda = h.columns(),
              .b = seen.v,
              .ldb = seen.stride,
              .c = out + h.out(),
              .ldc = h.wide(),
              .batch = static_cast<int32_t>(h.share()),
              .step_a = h.scores(),
              .step_b = 0,
              .step_c = h.s.dim});
}

void backward_block(const CudaAttention& t, const SharedHeads& h, const float* qkv,
                    const float* out, const float* dout, const float* log_sums, float* dqkv) {
  const AttentionShape& s = h.s;
  const auto batch = static_cast<int32_t>(h.share());
  float *const p = t.scratch, *const dp = p + h.share() * h.scores();
  void* const stream = t.queue.stream().handle();
  t.multiply(scores_product(h, qkv, {qkv + h.k(), qkv + h.v(), s.stride()}, p));
  t.queue.launched(
      kernels::launch_train_probabilities({p, const_cast<float*>(log_sums) + h.sums(), h.share(),
                                           h.rows, h.columns(), s.past + h.first, s.sequence},
                                          stream),
      "train_probabilities");
  t.multiply({.m = h.rows,
              .n = h.columns(),
              .k = s.dim,
              .a = dout + h.out(),
              .lda = h.wide(),
              .b = qkv + h.v(),
              .ldb = s.stride(),
              .transpose_b = true,
              .c = dp,
              .ldc = h.columns(),
              .batch = batch,
              .step_a = s.dim,
              .step_b = 0,
              .step_c = h.scores()});
  add_to_shared(t, h, p, dout + h.out(), h.wide(), dqkv + h.v());
  t.queue.launched(
      kernels::launch_train_softmax_backward({dp, p, out + h.out(), dout + h.out(), h.share(),
                                              h.rows, h.columns(), s.dim, h.wide(), scale_of(s)},
                                             stream),
      "train_softmax_backward");
  t.multiply({.m = h.rows,
              .n = s.dim,
              .k = h.columns(),
              .a = dp,
              .lda = h.columns(),
              .b = qkv + h.k(),
              .ldb = s.stride(),
              .c = dqkv + h.q(),
              .ldc = s.stride(),
              .batch = batch,
              .step_a = h.scores(),
              .step_b = 0,
              .step_c = s.dim});
  add_to_shared(t, h, dp, qkv + h.q(), s.stride(), dqkv + h.k());
}

}  // namespace

int64_t CudaAttention::scores_of(const AttentionShape& s, int64_t block_rows) {
  return s.heads / s.kv_heads * std::min(block_rows, s.sequence) * (s.past + s.sequence);
}

void CudaAttention::forward(const float* qkv, float* out, float* log_sums,
                            const AttentionShape& s) const {
  for_each_block(s, block_rows, [&](const SharedHeads& h) {
    forward_block(*this, h, qkv, {qkv + h.k(), qkv + h.v(), s.stride()}, out, log_sums);
  });
}

void CudaAttention::forward_cached(const float* qkv, const float* cache, float* out,
                                   float* log_sums, const AttentionShape& s) const {
  for_each_block(s, block_rows, [&](const SharedHeads& h) {
    const float* k = cache + h.batch * s.capacity * s.kept() + h.kv * s.dim;
    forward_block(*this, h, qkv, {k, k + s.kv_heads * s.dim, s.kept()}, out, log_sums);
  });
}

void CudaAttention::backward(const float* qkv, const float* out, const float* dout,
                             const float* log_sums, float* dqkv, const AttentionShape& s) const {
  // Gradients of keys and values are added up over blocks of rows.
  const auto bytes = static_cast<size_t>(s.tokens() * s.stride()) * sizeof(float);
  queue.queue([&] { cuda::zero(dqkv, bytes, queue.stream()); });
  for_each_block(s, block_rows, [&](const SharedHeads& h) {
    backward_block(*this, h, qkv, out, dout, log_sums, dqkv);
  });
}

}  // namespace cb::training
