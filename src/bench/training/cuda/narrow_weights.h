#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace cb::training {

// Weights, and what they are in 16 bits an element: of those that do not change at once, of others
// each matrix from its first product until weights change. Which of them are there ends with their
// memory: another array may get the same address.
class NarrowWeights {
 public:
  // What the 16 bits are: bf16, or eight bits for the matrix as it stands, and eight for it turned.
  enum class Form { bf16, eight_twice };
  void add(const float* from, int64_t count, std::shared_ptr<float[]> narrow, bool frozen) {
    forget(from, count);
    ranges_.push_back({from, count, std::move(narrow), frozen, {}});
  }
  // What the matrix is; null if it is none of them, or was not rounded so since the change.
  const uint16_t* of(const float* matrix, int64_t count, Form form = Form::bf16) {
    const Range* range = range_of(matrix, count);
    if (range == nullptr) return nullptr;
    if (range->frozen) return form == Form::bf16 ? range->at(matrix) : nullptr;
    const auto found = range->rounded.find(matrix);
    const bool there =
        found != range->rounded.end() && found->second.form == form &&
        (form == Form::bf16 ? found->second.count >= count : found->second.count == count);
    return there ? range->at(matrix) : nullptr;
  }
  // Where the caller rounds a matrix to that is not there yet, and then counts as there; null if it
  // is none of them, or would begin where no product likes it.
  uint16_t* take_place(const float* matrix, int64_t count, Form form = Form::bf16) {
    Range* range = range_of(matrix, count);
    if (range == nullptr || range->frozen ||
        reinterpret_cast<uintptr_t>(range->at(matrix)) % 16 != 0)
      return nullptr;
    range->rounded[matrix] = {count, form};
    return range->at(matrix);
  }
  void changed() {
    for (Range& one : ranges_) one.rounded.clear();
  }
  // Something wrote there.
  void changed(const float* at, int64_t elements) {
    for (Range& one : ranges_)
      if (!one.frozen && at < one.from + one.count && one.from < at + elements) one.rounded.clear();
  }
  // All that lie within this memory.
  void forget(const float* from, int64_t elements) {
    std::vector<Range> gone;  // giving their memory back comes here again
    for (size_t i = ranges_.size(); i-- > 0;) {
      if (ranges_[i].from < from || ranges_[i].from >= from + elements) continue;
      gone.push_back(std::move(ranges_[i]));
      ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  struct Range {
    const float* from;
    int64_t count;
    std::shared_ptr<float[]> narrow;
    bool frozen;
    struct Matrix {
      int64_t count;
      Form form;
    };
    std::map<const float*, Matrix> rounded;

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
