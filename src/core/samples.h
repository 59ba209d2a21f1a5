#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/histogram.h"
#include "core/stats.h"

namespace cb {

// The samples of one metric of one entity. Every sample is kept up to a bound; beyond it a
// histogram holds all of them and the raw list keeps the first `bound` (a time line's start).
class Samples {
 public:
  static constexpr size_t kDefaultBound = 2048;

  explicit Samples(size_t bound = kDefaultBound) : bound_(bound) {}
  Samples(std::initializer_list<double> values) {
    for (const double v : values) add(v);
  }
  static Samples from_histogram(Histogram histogram);

  // Throws Error for NaN, infinity and what is beyond kLargestSample: a wrong number never enters a
  // statistic. Beyond the bound also for negative numbers, which a histogram does not hold.
  void add(double value);

  uint64_t count() const { return histogram_ ? histogram_->count() : raw_.size(); }
  bool empty() const { return count() == 0; }
  std::span<const double> raw() const { return raw_; }
  const Histogram* histogram() const { return histogram_ ? &*histogram_ : nullptr; }
  Summary summary() const;  // needs one sample

 private:
  size_t bound_ = kDefaultBound;
  std::vector<double> raw_;
  std::optional<Histogram> histogram_;
};

}  // namespace cb
