#pragma once

#include <cstdint>
#include <vector>

#include "core/samples.h"

namespace cb {

// Turns running totals of several counters, read now and then, into rates over windows of about
// equal length. Pure: time and totals are passed in.
class RateWindows {
 public:
  // `window_seconds` long at least; a reading ends the window when that has passed.
  RateWindows(double window_seconds, size_t counters)
      : window_(window_seconds), last_(counters, 0), rates_(counters) {}

  void start(double now, std::vector<uint64_t> totals);
  // True if a window ended.
  bool add(double now, const std::vector<uint64_t>& totals);

  // Per second, of counter i, one for each whole window.
  const std::vector<double>& rates(size_t i) const { return rates_[i]; }
  // Sum over the counters, one for each whole window.
  std::vector<double> total() const;

 private:
  double window_;
  double begun_ = 0;
  std::vector<uint64_t> last_;
  std::vector<std::vector<double>> rates_;
};

}  // namespace cb
