#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/histogram.h"
#include "core/stats.h"

namespace cb {

// The samples of one metric of one entity. Every sample is kept up to a bound. Beyond it a
// histogram holds all of them, and the list is gone. A reader of many results may keep no more than
// the summary.
class Samples {
 public:
  static constexpr size_t kDefaultBound = 2048;

  explicit Samples(size_t bound = kDefaultBound) : bound_(bound) {}
  Samples(std::initializer_list<double> values) {
    for (const double v : values) add(v);
  }
  static Samples from_histogram(Histogram histogram);
  // Takes all of them as they are, however many. Throws as add() does.
  static Samples from_list(std::vector<double> values);

  // Throws Error for NaN, infinity and values beyond kMaxSample: a wrong number never enters a
  // statistic. Beyond the bound also throws for negative numbers, which a histogram cannot hold.
  void add(double value);

  uint64_t count() const;
  bool empty() const { return count() == 0; }
  // Returns every sample in the order of arrival; empty once a histogram holds them. To compute a
  // figure from samples use mapped(), which has all of them in both forms. Throws Error, as do
  // histogram() and mapped(), if only the summary was kept.
  std::span<const double> list() const;
  const Histogram* histogram() const;
  Summary summary() const;  // needs at least one sample

  // Forgets the samples; their count and summary stay.
  void keep_summary();
  bool has_only_summary() const { return summary_ != nullptr; }

  // Returns f of every sample, for a monotone f, such as a rate from a time. Throws Error if f
  // returns a number that is not finite.
  Samples mapped(const std::function<double(double)>& f) const;

 private:
  void require_samples() const;

  size_t bound_ = kDefaultBound;
  std::vector<double> list_;
  std::optional<Histogram> histogram_;
  std::shared_ptr<const Summary> summary_;  // if nothing else was kept
};

}  // namespace cb
