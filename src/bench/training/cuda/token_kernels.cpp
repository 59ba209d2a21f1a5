#include "bench/training/cuda/token_kernels.h"

#include <cmath>

#include "kernels/infer.h"

namespace cb::training {

std::array<MatmulKey, 4> TokenKernels::products_of(const TokenLayer<float>& l) {
  const AttentionShape& s = l.attention;
  const auto key = [&](int64_t outputs, int64_t inputs) {
    return MatmulKey{s.batch, outputs, inputs, false, true};
  };
  return {key(s.stride(), l.hidden), key(l.hidden, s.heads * s.dim),
          key(2 * l.feed_forward, l.hidden), key(l.hidden, l.feed_forward)};
}

void TokenKernels::attend(const float* q, const float* cache, float* out,
                          const AttentionShape& s) const {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.dim)));
  queue.launched(kernels::launch_infer_attention(
                     {q, cache, out, parts, static_cast<const float*>(s.position), s.batch, s.heads,
                      s.kv_heads, s.dim, s.stride(), s.past, s.capacity, scale, narrow},
                     queue.stream().handle()),
                 "infer_attention");
}

void TokenKernels::layer(const TokenLayer<float>& l, const TokenMatrices& matrices,
                         const float* cosines, const float* sines) const {
  const AttentionShape& s = l.attention;
  const int64_t h = l.hidden, f = l.feed_forward, wide = s.heads * s.dim, rows = s.batch;
  void* const stream = queue.stream().handle();
  queue.begin(Work::matmul);
  queue.launched(kernels::launch_infer_into_cache(
                     {l.stream, matrices.qkv, l.qkv, rows, s.stride(), h, h, h, s.stride(), narrow,
                      l.weights.attention_gain},
                     {l.cache, cosines, sines, static_cast<const float*>(s.position), s.heads,
                      s.kv_heads, s.dim, s.past, s.capacity},
                     stream),
                 "infer_into_cache");
  queue.begin(Work::attention);
  attend(l.qkv, l.cache, l.attended, s);
  queue.begin(Work::matmul);
  queue.launched(kernels::launch_infer_onto_stream(
                     {l.attended, matrices.out, l.stream, rows, h, wide, wide, wide, h, narrow},
                     l.attention_mark, stream),
                 "infer_onto_stream");
  queue.launched(kernels::launch_infer_gated({l.stream, matrices.gate_up, l.activated, rows, f, h,
                                              h, h, f, narrow, l.weights.feed_forward_gain},
                                             stream),
                 "infer_gated");
  queue.launched(kernels::launch_infer_onto_stream(
                     {l.activated, matrices.down, l.stream, rows, h, f, f, f, h, narrow},
                     l.feed_forward_mark, stream),
                 "infer_onto_stream");
}

}  // namespace cb::training
