#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cb::training {

// Weights that do not change, and what they are in bf16. Which of them are there ends with their
// memory: another array may get the same address.
class FrozenWeights {
 public:
  void add(const float* from, int64_t count, std::shared_ptr<float[]> narrow) {
    forget(from);
    ranges_.push_back({from, count, std::move(narrow)});
  }
  // null if that is none of them.
  const uint16_t* of(const float* weights) const {
    for (const Range& one : ranges_)
      if (weights >= one.from && weights < one.from + one.count)
        return reinterpret_cast<const uint16_t*>(one.narrow.get()) + (weights - one.from);
    return nullptr;
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
  };
  std::vector<Range> ranges_;
};

}  // namespace cb::training
