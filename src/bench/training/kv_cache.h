#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/training/stage.h"

namespace cb::training {

// Keys and values of the positions that were computed, of every layer of a stage: of each sequence
// `capacity` rows of AttentionShape::kept() elements.
template <typename Real>
struct KvCache {
  KvCache(Backend<Real>& backend, const Stage& stage, int64_t positions) : capacity(positions) {
    const int64_t count = stage.batch.sequences * capacity * stage.attention().kept();
    for (int64_t i = 0; i < stage.layers(); ++i) layers.push_back(backend.allocate(count));
  }

  int64_t capacity;    // positions of a sequence
  int64_t length = 0;  // of these, computed
  std::vector<std::shared_ptr<Real[]>> layers;
};

}  // namespace cb::training
