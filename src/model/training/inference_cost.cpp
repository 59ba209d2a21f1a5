#include "model/training/inference_cost.h"

namespace cb::training {
namespace {

double as_real(int64_t value) { return static_cast<double>(value); }

// Elements that a pass without backward holds for one token: the stream, the scratch for exchanges
// and both normed copies; queries, keys and values, attention's output with its row
// sums, both halves of the gate, and their product.
double pass_elements(const Shape& s, int tensor) {
  const double columns = as_real((s.heads + 2 * s.kv_heads) * s.head_dim + s.heads * s.head_dim +
                                 s.heads + 3 * s.feed_forward);
  return as_real(4 * s.hidden + 2) + columns / tensor;
}

}  // namespace

double kv_bytes_per_token(const Shape& s, int element_bytes) {
  return as_real(2 * s.layers * s.kv_heads * s.head_dim) * element_bytes;
}

double decode_weight_bytes(const Shape& s, int tensor, int element_bytes) {
  const double gains = as_real(2 * s.layers * s.hidden + s.hidden);
  return (as_real(matmul_parameters(s)) / tensor + gains) * element_bytes;
}

double decode_step_bytes(const Shape& s, int tensor, int64_t sequences, double context,
                         int element_bytes) {
  return decode_weight_bytes(s, tensor, element_bytes) +
         as_real(sequences) * context * kv_bytes_per_token(s, element_bytes) / tensor;
}

double prefill_flops(const Shape& s, int64_t prompt) {
  const double layers = as_real(s.layers * layer_matmul_parameters(s));
  const double attention = as_real(s.layers * prompt * s.heads * s.head_dim);
  return 2 * (layers + attention) * as_real(prompt) + 2 * as_real(s.hidden * s.vocabulary);
}

double inference_memory(const Shape& s, int tensor, const Generation& g, int element_bytes) {
  const double embedding = as_real(s.hidden * s.vocabulary) / tensor * element_bytes;
  const double weights = decode_weight_bytes(s, tensor, element_bytes) + embedding;
  const double cache =
      as_real(g.sequences * g.computed()) * kv_bytes_per_token(s, element_bytes) / tensor;
  const double passes = as_real(g.sequences * (g.prompt + g.computed())) * pass_elements(s, tensor);
  const double logits = 6 * as_real(g.sequences * s.vocabulary) / tensor;
  return weights + cache + (passes + logits) * element_bytes;
}

}  // namespace cb::training
