#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Shapes of decoders: what a training step computes is known from these numbers alone.
namespace cb::training {

struct Shape {
  std::string name;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;         // of queries
  int64_t kv_heads = 0;      // of keys and values; each serves heads / kv_heads heads of queries
  int64_t head_dim = 0;      // usually hidden / heads
  int64_t feed_forward = 0;  // inner width
  int64_t vocabulary = 0;
  bool gated = true;           // SwiGLU: gate, up and down matrices; else up and down
  int64_t experts = 1;         // feed-forward blocks of a layer
  int64_t active_experts = 1;  // of these, computed for one token

  bool dense() const { return experts == 1; }
};

// Published shapes: Llama 3 (arXiv 2407.21783, table 3), Mixtral (arXiv 2401.04088 and its model
// card), GPT-2 (Radford et al., 2019), and `tiny`, which a processor trains in seconds.
const std::vector<Shape>& known_shapes();
// Null if no shape has that name.
const Shape* find_shape(std::string_view name);

// Parameters that are multiplied with for each token: attention, feed-forward (active experts only,
// with the router), and the head. Without the embedding, which is a look-up, and without gains.
int64_t matmul_parameters(const Shape& shape);
int64_t layer_matmul_parameters(const Shape& shape);
// All parameters that one layer holds: all experts and both gains.
int64_t layer_parameters(const Shape& shape);
// All parameters that are stored: the embedding, every layer, the last gain, and the head.
int64_t stored_parameters(const Shape& shape);

}  // namespace cb::training
