#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "model/locate.h"

// What the parts of the locator share: samples as shares of the fleet's level, medians, and from
// when on a part counts as slow.
namespace cb::locating {

// Fewer samples than this say nothing about a part.
constexpr size_t kMinSamples = 3;
// So many of a host's rails must be slow for the host to be the cause, and of a leaf's hosts for
// its uplink.
constexpr double kMaxOf = 0.75;

// The median of values of which there is at least one; changes their order.
double middle(std::span<float> values);

// A measured transfer as a share of what the fleet reaches.
struct Sample {
  int from, to, rail;
  float x;
  bool alone;
  bool explained = false;  // by a wider cause; it counts no longer for narrower ones
};

// Values by part (a NIC, a leaf), one part behind the other in one block of memory.
class Bins {
 public:
  // each(add) calls add(part, value) for every value; it is called twice and must do the same.
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

// The noise of a sample, and what stands out of it.
class Judge {
 public:
  Judge(const LocateOptions& options, double noise) : options_(options), noise_(noise) {}

  double noise() const { return noise_; }
  double tolerance() const { return options_.tolerance; }
  // Below 1, as a share, from where on a median of n samples does not come from noise.
  double noise_bound(size_t n) const;
  bool is_slow(const Score& s) const;
  Score score(std::span<float> values) const;  // changes their order
  Suspect suspect(SuspectKind kind, const Score& s) const;

 private:
  double confidence(const Score& s) const;
  LocateOptions options_;
  double noise_;
};

// Every sample over the fleet's level, which is the median of its NICs' medians; the noise is what
// is left of a sample when the medians of its two ends are taken out. Both hold with few hosts too:
// of four hosts a slow one takes part in half of all pairs, but is one of four. Where all hosts
// hang on two leaves, only traffic inside them counts for the level: half of all pairs and more
// cross the one path between them, and if that is slow it would be the level.
struct Levelled {
  std::vector<Sample> samples;
  double noise = 0;  // standard deviation of one sample, robust
};
Levelled divide_by_level(const FleetShape& fleet, const std::vector<PairSample>& samples,
                         const LocateOptions& options);

// Standard deviation of a normal distribution from deviations from its centre. 0 without any.
double robust_deviation(std::vector<float>& deviations);

}  // namespace cb::locating
