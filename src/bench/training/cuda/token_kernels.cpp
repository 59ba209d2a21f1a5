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

bool TokenKernels::multiply(const cublaslt::RowMajorProduct& given) {
  const bool tiles = bf16_ && given.k % kernels::infer_tile_inputs == 0;
  const int64_t most = tiles ? kernels::infer_most_tile_rows : kernels::infer_most_rows;
  if (given.transpose_a || !given.transpose_b || given.alpha != 1 || given.beta != 0 ||
      given.m > most)
    return false;
  cublaslt::RowMajorProduct p = given;
  const void* x = bf16_ ? products_.rounded_a(p) : p.a;
  const void* w = bf16_ ? products_.rounded_b(p) : p.b;
  const kernels::InferProduct own{x, w, p.c, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, bf16_};
  if (!kernels::infer_takes(own)) return false;
  queue_.launched(kernels::launch_infer_product(own, queue_.stream().handle()), "infer_product");
  return true;
}

void TokenKernels::attend(const float* q, const float* cache, float* out, const AttentionShape& s,
                          bool narrow_out) {
  float* parts = parts_.of(kernels::infer_attention_parts(s.batch, s.heads, s.dim, s.capacity));
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.dim)));
  queue_.launched(
      kernels::launch_infer_attention(
          {q, cache, out, parts, static_cast<const float*>(s.position), s.batch, s.heads,
           s.kv_heads, s.dim, s.stride(), s.past, s.capacity, scale, bf16_, narrow_out},
          queue_.stream().handle()),
      "infer_attention");
}

std::optional<TokenProducts> TokenKernels::products_of(const TokenLayer<float>& l) {
  const LayerWeights<float>& w = l.weights;
  TokenMatrices matrices{w.qkv, w.out, w.gate_up, w.down};
  if (bf16_) {
    const auto keys = TokenProducts::keys_of(l);
    const auto rounded = [&](const float* matrix, const MatmulKey& key) {
      return weights_.of(matrix, key.n * key.k);
    };
    matrices = {rounded(w.qkv, keys[0]), rounded(w.out, keys[1]), rounded(w.gate_up, keys[2]),
                rounded(w.down, keys[3])};
  }
  for (const void* one : {matrices.qkv, matrices.out, matrices.gate_up, matrices.down})
    if (one == nullptr) return std::nullopt;
  const TokenProducts out(l, matrices, bf16_);
  return out.taken() ? std::optional(out) : std::nullopt;
}

void TokenKernels::layer(const TokenLayer<float>& l, const TokenProducts& products,
                         const float* cosines, const float* sines) {
  const AttentionShape& s = l.attention;
  void* const stream = queue_.stream().handle();
  const auto normed = [&](const float* gain) {
    queue_.launched(
        kernels::launch_infer_norm({l.stream, gain, l.normed, s.batch, l.hidden, bf16_}, stream),
        "infer_norm");
  };
  const auto onto_stream = [&](const kernels::InferProduct& p, float* mark) {
    queue_.launched(kernels::launch_infer_onto_stream(p, mark, stream), "infer_onto_stream");
  };
  queue_.begin(Work::matmul);
  normed(l.weights.attention_gain);
  queue_.launched(kernels::launch_infer_into_cache(
                      products.qkv,
                      {l.cache, cosines, sines, static_cast<const float*>(s.position), s.heads,
                       s.kv_heads, s.dim, s.past, s.capacity},
                      stream),
                  "infer_into_cache");
  queue_.begin(Work::attention);
  attend(l.qkv, l.cache, l.attended, s, bf16_);
  queue_.begin(Work::matmul);
  onto_stream(products.out, l.attention_mark);
  normed(l.weights.feed_forward_gain);
  queue_.launched(kernels::launch_infer_gated(products.gated, stream), "infer_gated");
  onto_stream(products.down, l.feed_forward_mark);
}

}  // namespace cb::training
