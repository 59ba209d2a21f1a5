#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/training/backend.h"
#include "bench/training/group.h"
#include "model/training/cost.h"

namespace cb::training {

// The part of the decoder that one rank computes: some layers, and of each its share of heads and
// columns.
struct Stage {
  Shape shape;
  Layout layout;
  Batch batch;
  Coordinates at;
  bool recompute = false;
  bool forward_only = false;  // nothing is kept for a backward, and every rank has the whole stream
  int64_t most_logits = int64_t{1} << 22;  // elements that are computed at a time

  bool first() const { return at.stage == 0; }
  bool last() const { return at.stage == layout.pipeline - 1; }
  // The first stages have one layer more where the division leaves a rest.
  int64_t first_layer() const {
    const int64_t each = shape.layers / layout.pipeline, rest = shape.layers % layout.pipeline;
    return at.stage * each + std::min<int64_t>(at.stage, rest);
  }
  int64_t layers() const {
    return shape.layers / layout.pipeline + (at.stage < shape.layers % layout.pipeline ? 1 : 0);
  }
  int64_t tokens() const { return batch.micro_tokens(); }
  // Of the residual stream.
  int64_t own_tokens() const { return forward_only ? tokens() : tokens() / layout.tensor; }
  int64_t heads() const { return shape.heads / layout.tensor; }
  int64_t kv_heads() const { return shape.kv_heads / layout.tensor; }
  int64_t feed_forward() const { return shape.feed_forward / layout.tensor; }
  VocabularyPart vocabulary() const {
    const int64_t each = shape.vocabulary / layout.tensor;
    return {at.tensor * each, each};
  }
  AttentionShape attention() const {
    return {batch.sequences, batch.sequence, heads(), kv_heads(), shape.head_dim};
  }
  // Micro-batches whose activations are kept at the same time: 1F1B.
  int64_t live() const {
    return std::min<int64_t>(layout.pipeline - at.stage, batch.micro_batches);
  }
};

}  // namespace cb::training
