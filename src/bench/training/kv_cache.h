#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/training/stage.h"

namespace cb::training {

// Keys and values of the positions that were computed, of every layer of a stage: of each sequence
// `capacity` rows of AttentionShape::kept() elements of Backend::cached_bytes().
template <typename Real>
struct KvCache {
  KvCache(Backend<Real>& backend, const Stage& stage, int64_t positions) : capacity(positions) {
    bytes = stage.batch.sequences * capacity * stage.attention().kept() * backend.cached_bytes();
    for (int64_t i = 0; i < stage.layers(); ++i) layers.push_back(backend.allocate(numbers()));
  }

  int64_t capacity;    // positions of a sequence
  int64_t length = 0;  // of these, computed
  int64_t bytes = 0;   // of a layer
  // Where the device finds `length` by itself, if it does: AttentionShape::position.
  const Real* position = nullptr;
  std::vector<std::shared_ptr<Real[]>> layers;

  // The attention of tokens that follow what is computed.
  AttentionShape attention(AttentionShape shape) const {
    shape.past = length;
    shape.capacity = capacity;
    shape.position = position;
    return shape;
  }
  // Of a layer, as an array of Real.
  int64_t numbers() const {
    constexpr auto kEach = static_cast<int64_t>(sizeof(Real));
    return (bytes + kEach - 1) / kEach;
  }
};

}  // namespace cb::training
