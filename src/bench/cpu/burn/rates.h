#pragma once

#include <cstdint>
#include <vector>

#include "core/samples.h"

namespace cb {

// Turns running totals of several counters, read now and then, into rates over windows of about
// equal length. Pure: the caller passes time and totals.
class RateWindows {
 public:
  // A window ends with the first reading at least `window_seconds` after its start.
  RateWindows(double window_seconds, size_t counters)
      : window_(window_seconds), last_(counters, 0), rates_(counters) {}

  void start(double now, std::vector<uint64_t> totals);
  // Adds a reading. Returns true if it ended a window.
  bool add(double now, const std::vector<uint64_t>& totals);

  // Rates of counter i per second, one for each whole window.
  const std::vector<double>& rates(size_t i) const { return rates_[i]; }
  // Sum of the counters' rates, one for each whole window.
  std::vector<double> total() const;

 private:
  double window_;
  double begun_ = 0;
  std::vector<uint64_t> last_;
  std::vector<std::vector<double>> rates_;
};

}  // namespace cb
