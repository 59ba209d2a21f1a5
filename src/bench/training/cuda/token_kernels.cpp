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

void TokenKernels::attend(const float* q, const float* cache, float* out, const AttentionShape& s,
                          bool narrow_out) const {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.dim)));
  queue.launched(kernels::launch_infer_attention(
                     {q, cache, out, parts, static_cast<const float*>(s.position), s.batch, s.heads,
                      s.kv_heads, s.dim, s.stride(), s.past, s.capacity, scale, narrow, narrow_out},
                     queue.stream().handle()),
                 "infer_attention");
}

// What goes into a product is of bf16 if the product is: it takes half of the array's room.
void TokenKernels::layer(const TokenLayer<float>& l, const TokenMatrices& matrices,
                         const float* cosines, const float* sines) const {
  const AttentionShape& s = l.attention;
  const int64_t h = l.hidden, f = l.feed_forward, wide = s.heads * s.dim, rows = s.batch;
  void* const stream = queue.stream().handle();
  const auto normed = [&](const float* gain) {
    queue.launched(kernels::launch_infer_norm({l.stream, gain, l.normed, rows, h, narrow}, stream),
                   "infer_norm");
  };
  const auto onto_stream = [&](const float* x, const void* w, int64_t inputs, float* mark) {
    queue.launched(kernels::launch_infer_onto_stream(
                       {x, w, l.stream, rows, h, inputs, inputs, inputs, h, narrow}, mark, stream),
                   "infer_onto_stream");
  };
  queue.begin(Work::matmul);
  normed(l.weights.attention_gain);
  queue.launched(kernels::launch_infer_into_cache(
                     {l.normed, matrices.qkv, l.qkv, rows, s.stride(), h, h, h, s.stride(), narrow},
                     {l.cache, cosines, sines, static_cast<const float*>(s.position), s.heads,
                      s.kv_heads, s.dim, s.past, s.capacity},
                     stream),
                 "infer_into_cache");
  queue.begin(Work::attention);
  attend(l.qkv, l.cache, l.attended, s, narrow);
  queue.begin(Work::matmul);
  onto_stream(l.attended, matrices.out, wide, l.attention_mark);
  normed(l.weights.feed_forward_gain);
  queue.launched(
      kernels::launch_infer_gated(
          {l.normed, matrices.gate_up, l.activated, rows, f, h, h, h, f, narrow}, stream),
      "infer_gated");
  onto_stream(l.activated, matrices.down, f, l.feed_forward_mark);
}

}  // namespace cb::training
