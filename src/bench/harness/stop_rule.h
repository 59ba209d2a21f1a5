#pragma once

#include <cstdint>

#include "core/samples.h"

namespace cb {

// When a series of samples is long enough.
struct StopRule {
  double max_seconds = 5;    // of sampling, warm-up not counted
  double min_seconds = 0;    // never early before; max_seconds goes first
  uint64_t min_samples = 6;  // below six the median has no 95 % interval
  uint64_t max_samples = 1000000;
  double target_half_width =
      0.01;  // of the median's 95 % interval, as a share of the median; 0: never early

  // True if `samples`, taken over `seconds`, are enough.
  bool done(const Samples& samples, double seconds) const;
};

// Warm-up has ended when the last three samples lie within `tolerance` of their median and are no
// longer falling, or after max_samples or max_seconds. Feed one sample at a time.
class WarmUp {
 public:
  WarmUp(double max_seconds, uint64_t max_samples, double tolerance = 0.05)
      : max_seconds_(max_seconds), max_samples_(max_samples), tolerance_(tolerance) {}

  void add(double seconds);
  bool done() const;
  uint64_t count() const { return count_; }

 private:
  double max_seconds_;
  uint64_t max_samples_;
  double tolerance_;
  double total_ = 0;
  uint64_t count_ = 0;
  double last_[3] = {};
};

}  // namespace cb
