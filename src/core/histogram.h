#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/stats.h"

namespace cb {

// Log-linear histogram of positive numbers (seconds, bytes per second, …) from 2^-40 to 2^64, with
// 128 buckets an octave: a quantile is within 0.4 % of the sample; minimum, maximum, sum and count
// are exact. Numbers below the range (also 0) count in the first bucket and are read back as the
// minimum; numbers above it count in the last and are read back as the maximum. Merging two
// histograms equals adding all samples to one. Keeps only the buckets between the lowest and the
// highest in use.
class Histogram {
 public:
  // Throws Error if the value is negative or not finite.
  void add(double value);
  void merge(const Histogram& other);
  // Returns the histogram of f(sample) for a monotone f that returns no negative number. Count,
  // minimum and maximum stay exact; each other sample is mapped from its bucket's middle, so a
  // quantile is within about 1 % of the sample. The sum stays exact if f is a factor.
  Histogram mapped(const std::function<double(double)>& f) const;

  uint64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double sum() const { return sum_; }

  // Returns the q-quantile (0 <= q <= 1): the order statistic of rank 1 + floor(q (n - 1)), as the
  // middle of its bucket clamped to [min, max]. Needs at least one sample.
  double quantile(double q) const;
  Summary summary() const;

  // Sparse form for documents: (bucket, count), ascending, no zero counts.
  using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;
  Buckets buckets() const;
  // Returns the middle of a bucket's range, for drawing.
  static double bucket_middle(uint32_t bucket);
  struct Exact {
    double min, max, sum, sum_of_squares;
  };
  Exact exact() const { return {min_, max_, sum_, squares_}; }
  // Rebuilds a histogram from buckets() and exact(). Throws Error for buckets that are out of
  // range, not ascending or empty, and for exact numbers that no samples in these buckets can have.
  static Histogram restore(const Buckets& buckets, const Exact& exact);

 private:
  void add(double value, uint64_t times);
  double representative(size_t index) const;
  double at_rank(uint64_t rank) const;
  uint64_t& bucket(size_t index);

  std::vector<uint64_t> counts_;  // counts of the buckets beginning with first_
  size_t first_ = 0;
  uint64_t count_ = 0;
  double min_ = 0;
  double max_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace cb
