#include "bench/harness/stop_rule.h"

#include <algorithm>
#include <cmath>

#include "core/stats.h"

namespace cb {

bool StopRule::done(const Samples& samples, double seconds) const {
  const uint64_t n = samples.count();
  if (n >= max_samples || (n > 0 && seconds >= max_seconds)) return true;
  if (n < min_samples || seconds < min_seconds || target_half_width <= 0) return false;
  const auto half_width = relative_half_width(samples.summary());
  return half_width && *half_width <= target_half_width;
}

void WarmUp::add(double seconds) {
  last_[count_ % 3] = seconds;
  total_ += seconds;
  ++count_;
}

bool WarmUp::done() const {
  if (count_ >= max_samples_ || total_ >= max_seconds_) return true;
  if (count_ < 3) return false;
  const double centre = median(last_);
  const bool within = std::all_of(
      last_, last_ + 3, [&](double s) { return std::abs(s - centre) <= tolerance_ * centre; });
  const double newest = last_[(count_ - 1) % 3];
  return within && newest >= centre * (1 - tolerance_ / 2);
}

}  // namespace cb
