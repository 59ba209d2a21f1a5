#include "model/training/cost.h"

#include <algorithm>

namespace cb::training {
namespace {

double real(int64_t value) { return static_cast<double>(value); }

int64_t layers_of_first_stage(const Shape& shape, const Layout& layout) {
  return (shape.layers + layout.pipeline - 1) / layout.pipeline;
}

// The embedding is on the first stage; with one stage the head and the last gain are there too.
double parameters_of_rank(const Shape& s, const Layout& layout) {
  const double layers =
      real(layers_of_first_stage(s, layout) * (layer_parameters(s) - 2 * s.hidden));
  const double table = real(s.hidden * s.vocabulary);
  const double shared = layers + table * (layout.pipeline == 1 ? 2 : 1);
  const double gains =
      real(2 * s.hidden * layers_of_first_stage(s, layout) + (layout.pipeline == 1 ? s.hidden : 0));
  return shared / layout.tensor + gains;
}

// Elements that one layer keeps for one micro-batch: three residual streams of which two are the
// inputs of the products, queries, keys and values, attention's output with its row sums, both
// halves of the gate, and their product. The streams are divided by tokens, the rest by columns;
// the inputs of the products are kept whole.
double kept_elements(const Shape& s, const Layout& layout, const Batch& batch, bool recompute) {
  const double tokens = real(batch.micro_tokens()), t = layout.tensor;
  if (recompute) return tokens * real(s.hidden) / t;
  const double columns = real((s.heads + 2 * s.kv_heads) * s.head_dim + s.heads * s.head_dim +
                              s.heads + 3 * s.feed_forward);
  return tokens * ((2 * real(s.hidden) + 2) / t + 2 * real(s.hidden) + columns / t);
}

}  // namespace

double flops_per_token(const Shape& s, int64_t sequence, Mask mask) {
  const double attention = mask == Mask::causal ? 6 : 12;
  return 6 * real(matmul_parameters(s)) +
         attention * real(s.layers * sequence * s.heads * s.head_dim);
}

double hardware_flops_per_token(const Shape& s, int64_t sequence, bool recompute) {
  const double model = flops_per_token(s, sequence);
  const double head = 6 * real(s.hidden * s.vocabulary);
  return recompute ? model + (model - head) / 3 : model;
}

Memory memory_of_rank(const Shape& s, const Layout& layout, const Batch& batch, int weight_bytes,
                      bool recompute) {
  const double parameters = parameters_of_rank(s, layout);
  const double master = weight_bytes == 4 ? 0 : 4;
  const double shard = layout.zero1 ? parameters / layout.data : parameters;
  const double live = real(std::min<int64_t>(layout.pipeline, batch.micro_batches));
  const double layer = kept_elements(s, layout, batch, recompute);
  const double layers = real(layers_of_first_stage(s, layout));
  // With recomputing, one layer at a time is whole.
  const double whole = recompute ? kept_elements(s, layout, batch, false) : 0;
  return {parameters * weight_bytes, parameters * weight_bytes, shard * (8 + master),
          (live * layers * layer + whole) * weight_bytes};
}

Traffic traffic_of_rank(const Shape& s, const Layout& layout, const Batch& batch,
                        int element_bytes) {
  const double d = layout.data, t = layout.tensor;
  const double micro = real(batch.micro_tokens() * s.hidden) * element_bytes;
  const double layers = real(layers_of_first_stage(s, layout));
  Traffic out;
  out.data = 2 * parameters_of_rank(s, layout) * element_bytes * (d - 1) / d;
  out.tensor = 8 * (t - 1) / t * micro * layers * real(batch.micro_batches);
  if (layout.pipeline > 1) out.pipeline = 2 * micro / t * real(batch.micro_batches);
  return out;
}

double bubble_of_ideal(int stages, int64_t micro_batches) {
  return (stages - 1) / real(micro_batches);
}

double bubble_share(int stages, int64_t micro_batches) {
  return (stages - 1) / (real(micro_batches) + stages - 1);
}

}  // namespace cb::training
