#include "bench/training/cuda/token_kernels.h"

#include <cmath>

namespace cb::training {
namespace {

kernels::InferProduct product(const void* x, const void* w, void* y, int64_t rows, int64_t outputs,
                              int64_t inputs, bool narrow) {
  return {x, w, y, rows, outputs, inputs, inputs, inputs, outputs, narrow};
}

}  // namespace

TokenProducts::TokenProducts(const TokenLayer<float>& l, const TokenMatrices& w, bool narrow)
    : qkv(product(l.normed, w.qkv, l.qkv, l.attention.batch, l.attention.stride(), l.hidden,
                  narrow)),
      out(product(l.attended, w.out, l.stream, l.attention.batch, l.hidden,
                  l.attention.heads * l.attention.dim, narrow)),
      gated(product(l.normed, w.gate_up, l.activated, l.attention.batch, l.feed_forward, l.hidden,
                    narrow)),
      down(product(l.activated, w.down, l.stream, l.attention.batch, l.hidden, l.feed_forward,
                   narrow)) {}

bool TokenProducts::taken() const {
  return kernels::infer_takes(qkv) && kernels::infer_takes(out) && kernels::infer_takes(gated) &&
         kernels::infer_takes(down);
}

std::array<MatmulKey, 4> TokenProducts::keys_of(const TokenLayer<float>& l) {
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

void TokenKernels::layer(const TokenLayer<float>& l, const TokenProducts& products,
                         const float* cosines, const float* sines) const {
  const AttentionShape& s = l.attention;
  void* const stream = queue.stream().handle();
  const auto normed = [&](const float* gain) {
    queue.launched(
        kernels::launch_infer_norm({l.stream, gain, l.normed, s.batch, l.hidden, narrow}, stream),
        "infer_norm");
  };
  const auto onto_stream = [&](const kernels::InferProduct& p, float* mark) {
    queue.launched(kernels::launch_infer_onto_stream(p, mark, stream), "infer_onto_stream");
  };
  queue.begin(Work::matmul);
  normed(l.weights.attention_gain);
  queue.launched(kernels::launch_infer_into_cache(
                     products.qkv,
                     {l.cache, cosines, sines, static_cast<const float*>(s.position), s.heads,
                      s.kv_heads, s.dim, s.past, s.capacity},
                     stream),
                 "infer_into_cache");
  queue.begin(Work::attention);
  attend(l.qkv, l.cache, l.attended, s, narrow);
  queue.begin(Work::matmul);
  onto_stream(products.out, l.attention_mark);
  normed(l.weights.feed_forward_gain);
  queue.launched(kernels::launch_infer_gated(products.gated, stream), "infer_gated");
  onto_stream(products.down, l.feed_forward_mark);
}

}  // namespace cb::training
