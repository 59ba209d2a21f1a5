#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "model/locate.h"

// What the parts of the locator share: samples as shares of the fleet's level, medians, and the
// decision that a part is slow.
namespace cb::locating {

// Fewer samples than this say nothing about a part.
constexpr size_t kMinSamples = 3;
// A host is the cause only if this share of its rails is slow; an uplink, if this share of its
// leaf's hosts is.
constexpr double kMaxOf = 0.75;

// Returns the median of at least one value. Changes their order.
double middle(std::span<float> values);

// A measured transfer as a share of the fleet's level.
struct Sample {
  int from, to, rail;
  float x;
  bool alone;
  bool explained = false;  // explained by a wider cause; ignored for narrower ones
};

// Values by part (a NIC, a leaf), all parts in one block of memory.
class Bins {
 public:
  // each(add) calls add(part, value) for every value. It is called twice and must do the same
  // twice.
  template <typename Each>
  Bins(size_t parts, Each each) : begin_(parts + 1, 0) {
    each([&](size_t part, float) { ++begin_[part + 1]; });
    for (size_t i = 0; i < parts; ++i) begin_[i + 1] += begin_[i];
    values_.resize(begin_.back());
    std::vector<size_t> next = begin_;
    each([&](size_t part, float value) { values_[next[part]++] = value; });
  }
  size_t parts() const { return begin_.size() - 1; }
  std::span<float> of(size_t part) {
    return std::span(values_).subspan(begin_[part], begin_[part + 1] - begin_[part]);
  }

 private:
  std::vector<size_t> begin_;
  std::vector<float> values_;
};

struct Score {
  double share = 1;
  size_t low = 0;
  size_t n = 0;
};

// Knows the noise of a sample, and decides what exceeds it.
class Judge {
 public:
  Judge(const LocateOptions& options, double noise) : options_(options), noise_(noise) {}

  double noise() const { return noise_; }
  double tolerance() const { return options_.tolerance; }
  // Returns how far below 1 a median of n samples must be so that noise does not explain it.
  double noise_bound(size_t n) const;
  bool is_slow(const Score& s) const;
  Score score(std::span<float> values) const;  // changes the order of `values`
  Suspect suspect(SuspectKind kind, const Score& s) const;

 private:
  double confidence(const Score& s) const;
  LocateOptions options_;
  double noise_;
};

// Divides every sample by the fleet's level, which is the median of its NICs' medians. The noise is
// what remains of a sample without the medians of its two ends. Both hold with few hosts too: one
// slow host of four takes part in half of all pairs, but is one of four. If all hosts are on two
// leaves, only traffic inside leaves counts for the level: at least half of all pairs cross the one
// path between the leaves, and if that were slow, it would be the level.
struct Levelled {
  std::vector<Sample> samples;
  double noise = 0;  // standard deviation of one sample, robust
};
Levelled divide_by_level(const FleetShape& fleet, const std::vector<PairSample>& samples,
                         const LocateOptions& options);

// Returns the standard deviation of a normal distribution, from deviations from its centre; 0 if
// there are none.
double robust_deviation(std::vector<float>& deviations);

}  // namespace cb::locating
