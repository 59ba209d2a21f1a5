#pragma once

#include "model/training/cost.h"

// What generating tokens costs by theory. docs/methods/infer.md.
namespace cb::training {

// Bytes of keys and values of one token over all layers: 2·L·kv·d elements.
double kv_bytes_per_token(const Shape& shape, int element_bytes);

// Bytes of weights that one of `tensor` ranks reads for one decode step: all matrices with the
// head, and the gains. Of the embedding only rows are read: they do not count.
double decode_weight_bytes(const Shape& shape, int tensor, int element_bytes);

// Bytes that one rank reads in a decode step of `sequences`, each of `context` positions with the
// new one: the weights once, and the cache of every sequence.
double decode_step_bytes(const Shape& shape, int tensor, int64_t sequences, double context,
                         int element_bytes);

// Operations of reading a prompt, of one sequence: 2 for each parameter of the layers and token,
// 2·L·s·H·d a token for the causal half of attention, and the head for the last token alone.
double prefill_flops(const Shape& shape, int64_t prompt);

// What one rank is to generate.
struct Generation {
  int64_t sequences = 1;
  int64_t prompt = 1;      // tokens of each that are given
  int64_t new_tokens = 1;  // that follow

  int64_t length() const { return prompt + new_tokens; }
  // Positions that are computed: the last token is chosen, and not read any more.
  int64_t computed() const { return length() - 1; }
};

// Bytes that one of `tensor` ranks allocates: weights, cache, and the arrays of the prompt's pass
// and of the pass over all tokens that checks it.
double inference_memory(const Shape& shape, int tensor, const Generation& generation,
                        int element_bytes);

}  // namespace cb::training
