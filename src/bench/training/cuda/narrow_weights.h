#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace cb::training {

// Weights, and what they are in bf16: of those that do not change at once, of others each matrix
// from its first product until weights change. Which of them are there ends with their memory:
// another array may get the same address.
class NarrowWeights {
 public:
  void add(const float* from, int64_t count, std::shared_ptr<float[]> narrow, bool frozen) {
    forget(from);
    ranges_.push_back({from, count, std::move(narrow), frozen, {}});
  }
  // What the matrix is in bf16; null if it is none of them, or was not rounded since the change.
  const uint16_t* of(const float* matrix, int64_t count) {
    const Range* range = range_of(matrix, count);
    if (range == nullptr) return nullptr;
    const auto found = range->rounded.find(matrix);
    const bool there = range->frozen || (found != range->rounded.end() && found->second >= count);
    return there ? range->at(matrix) : nullptr;
  }
  // Where the caller rounds a matrix to that is not there yet, and then counts as there; null if it
  // is none of them.
  uint16_t* take_place(const float* matrix, int64_t count) {
    Range* range = range_of(matrix, count);
    if (range == nullptr) return nullptr;
    range->rounded[matrix] = count;
    return range->at(matrix);
  }
  void changed() {
    for (Range& one : ranges_) one.rounded.clear();
  }
  // Something wrote there.
  void changed(const float* at) {
    if (const Range* range = range_of(at, 1); range != nullptr && !range->frozen) changed();
  }
  void forget(const float* from) {
    const auto found = std::ranges::find(ranges_, from, &Range::from);
    if (found == ranges_.end()) return;
    const Range last = std::move(*found);  // giving its memory back comes here again
    ranges_.erase(found);
  }

 private:
  struct Range {
    const float* from;
    int64_t count;
    std::shared_ptr<float[]> narrow;
    bool frozen;
    std::map<const float*, int64_t> rounded;  // elements of each

    uint16_t* at(const float* matrix) const {
      return reinterpret_cast<uint16_t*>(narrow.get()) + (matrix - from);
    }
  };
  Range* range_of(const float* matrix, int64_t count) {
    for (Range& one : ranges_)
      if (matrix >= one.from && matrix + count <= one.from + one.count) return &one;
    return nullptr;
  }
  std::vector<Range> ranges_;
};

}  // namespace cb::training
