#include "bench/cpu/burn/rates.h"

#include <utility>

namespace cb {

void RateWindows::start(double now, std::vector<uint64_t> totals) {
  begun_ = now;
  last_ = std::move(totals);
}

bool RateWindows::add(double now, const std::vector<uint64_t>& totals) {
  const double seconds = now - begun_;
  if (seconds < window_) return false;
  for (size_t i = 0; i < rates_.size(); ++i)
    rates_[i].push_back(static_cast<double>(totals[i] - last_[i]) / seconds);
  start(now, totals);
  return true;
}

std::vector<double> RateWindows::total() const {
  std::vector<double> out(rates_.empty() ? 0 : rates_[0].size(), 0);
  for (const auto& counter : rates_) {
    for (size_t w = 0; w < out.size(); ++w) out[w] += counter[w];
  }
  return out;
}

}  // namespace cb
