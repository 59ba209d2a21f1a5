// What generating tokens computes on a GPU besides kernels/train.h: products of few rows, attention
// of one token a sequence over a cache, and the choice of the next token. Matrices are row-major.
// Sums are taken in an order that sizes alone decide, and a sequence's result does not depend on
// what stands beside it. A NaN that goes in comes out.
#pragma once

#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

// y = x·wᵀ for x of few rows: each element of w is read once. w: outputs × inputs. Both are of fp32
// or of bf16; sums and y are fp32.
struct InferProduct {
  const void *x, *w;
  void* y;
  std::int64_t rows, outputs, inputs;
  std::int64_t stride_x, stride_w, stride_y;  // elements between rows
  bool narrow;                                // x and w are of bf16
};
inline constexpr std::int64_t infer_most_rows = 8, infer_most_tile_rows = 16;
inline constexpr std::int64_t infer_tile_inputs = 32;
// Whether 16 bytes can be read at once from each row of x and w.
inline bool infer_comes_by_16(const InferProduct& p) {
  const auto places = reinterpret_cast<std::uintptr_t>(p.x) | reinterpret_cast<std::uintptr_t>(p.w);
  const std::int64_t strides = p.stride_w | p.stride_x;
  return places % 16 == 0 && strides * (p.narrow ? 2 : 4) % 16 == 0;
}
// Whether tensor cores compute it.
inline bool infer_tiles_take(const InferProduct& p) {
  return p.narrow && p.inputs % infer_tile_inputs == 0 && infer_comes_by_16(p);
}
// All launchers of such products refuse others: up to 8 rows, and on tensor cores 16.
inline bool infer_takes(const InferProduct& p) {
  return p.rows <= (infer_tiles_take(p) ? infer_most_tile_rows : infer_most_rows);
}
int launch_infer_product(const InferProduct& p, void* stream);

// A layer's products with what stands behind them. Each gives what separate kernels do, within
// rounding.
// q, k and v: q is turned by its position and goes to y, k is turned too and goes with v into the
// cache, of bf16 if w is. outputs: (heads + 2·kv_heads)·dim.
struct InferCache {
  void* cache;                   // as in InferAttention
  const float *cosines, *sines;  // of each position dim/2
  const float* position;         // as in InferAttention
  std::int64_t heads, kv_heads, dim, past, capacity;
};
int launch_infer_into_cache(const InferProduct& p, const InferCache& cache, void* stream);
// Adds the product to y, and sets the mark if a number of the product is not finite.
int launch_infer_onto_stream(const InferProduct& p, float* mark, void* stream);
// SwiGLU: w has `outputs` rows of the gate, then as many of the other matrix. y is of bf16 if w is.
int launch_infer_gated(const InferProduct& p, void* stream);

// RMSNorm of few rows.
struct InferNorm {
  const float *x, *gain;
  void* y;
  std::int64_t rows, width;
  bool narrow;  // y is of bf16
};
int launch_infer_norm(const InferNorm& n, void* stream);

// Causal attention of one token of each sequence, whose queries see the positions until and with
// their own: `past`, or what `position` holds on the device, if given. Queries and outputs are rows
// of heads·dim elements; those of queries are `stride` apart. Of each sequence the cache has
// `capacity` rows: all heads of k, then of v. Heads that share keys and values read them together.
// `parts`: room for infer_attention_parts() numbers.
struct InferAttention {
  const float* q;
  const void* cache;
  void* out;
  float* parts;
  const float* position;
  std::int64_t sequences, heads, kv_heads, dim, stride, past, capacity;
  float scale;
  bool narrow;              // the cache is of bf16
  bool narrow_out = false;  // and out
};
inline constexpr std::int64_t infer_chunk = 64;  // positions of a block
CB_HOST_DEVICE constexpr std::int64_t infer_chunks(std::int64_t capacity) {
  return (capacity + infer_chunk - 1) / infer_chunk;
}
constexpr std::int64_t infer_attention_parts(std::int64_t sequences, std::int64_t heads,
                                             std::int64_t dim, std::int64_t capacity) {
  return sequences * heads * infer_chunks(capacity) * (dim + 2);
}
int launch_infer_attention(const InferAttention& a, void* stream);

// The largest of each row, as launch_train_row_max, for few long rows. A NaN is no maximum.
int launch_infer_row_max(const float* logits, float* top, std::int64_t rows, std::int64_t width,
                         void* stream);

// Of each row the first token whose logit is `top`, as −token, or the lowest number if the row's
// part of the vocabulary, which begins with `first`, has none. Behind the rows: 1 if any of the
// marks is set, else 0.
struct InferChoice {
  const float *logits, *top, *marks;
  float* candidates;
  std::int64_t rows, width, first, marks_count;
};
int launch_infer_choice(const InferChoice& c, void* stream);

// Rows of a table that holds tokens first … first + count − 1, by the numbers of InferChoice; 0 for
// other tokens.
struct InferEmbedding {
  const float *table, *candidates;
  float* out;
  std::int64_t rows, width, first, count;
};
int launch_infer_embed(const InferEmbedding& e, void* stream);

// Sets *mark to 1 if a number is not finite; else leaves it.
int launch_infer_mark(const float* x, std::int64_t count, float* mark, void* stream);

}  // namespace cb::kernels
