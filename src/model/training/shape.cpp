#include "model/training/shape.h"

#include <algorithm>

namespace cb::training {
namespace {

// Of queries and output: hidden × heads·d each; of keys and values: hidden × kv·d each.
int64_t attention_parameters(const Shape& s) {
  return 2 * s.hidden * s.heads * s.head_dim + 2 * s.hidden * s.kv_heads * s.head_dim;
}

int64_t expert_parameters(const Shape& s) { return (s.gated ? 3 : 2) * s.hidden * s.feed_forward; }

int64_t router_parameters(const Shape& s) { return s.dense() ? 0 : s.hidden * s.experts; }

}  // namespace

const std::vector<Shape>& known_shapes() {
  static const std::vector<Shape> shapes{
      {"llama-8b", 32, 4096, 32, 8, 128, 14336, 128256},
      {"llama-70b", 80, 8192, 64, 8, 128, 28672, 128256},
      {"llama-405b", 126, 16384, 128, 8, 128, 53248, 128256},
      {"mixtral-8x7b", 32, 4096, 32, 8, 128, 14336, 32000, true, 8, 2},
      {"mixtral-8x22b", 56, 6144, 48, 8, 128, 16384, 32768, true, 8, 2},
      {"gpt2-124m", 12, 768, 12, 12, 64, 3072, 50257, false},
      {"tiny", 2, 64, 4, 2, 16, 192, 512},
  };
  return shapes;
}

const Shape* find_shape(std::string_view name) {
  const auto& all = known_shapes();
  const auto found = std::find_if(all.begin(), all.end(), [&](auto& s) { return s.name == name; });
  return found == all.end() ? nullptr : &*found;
}

int64_t layer_matmul_parameters(const Shape& s) {
  return attention_parameters(s) + s.active_experts * expert_parameters(s) + router_parameters(s);
}

int64_t matmul_parameters(const Shape& s) {
  return s.layers * layer_matmul_parameters(s) + s.hidden * s.vocabulary;
}

int64_t layer_parameters(const Shape& s) {
  return attention_parameters(s) + s.experts * expert_parameters(s) + router_parameters(s) +
         2 * s.hidden;
}

int64_t stored_parameters(const Shape& s) {
  return s.layers * layer_parameters(s) + 2 * s.hidden * s.vocabulary + s.hidden;
}

}  // namespace cb::training
