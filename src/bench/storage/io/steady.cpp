#include "bench/storage/io/steady.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace cb::io {

std::optional<Steadiness> steadiness(std::span<const double> rates) {
  if (rates.size() < kSteadyWindow) return std::nullopt;
  const auto window = rates.last(kSteadyWindow);
  const auto n = static_cast<double>(kSteadyWindow);
  const double average = std::accumulate(window.begin(), window.end(), 0.0) / n;
  if (!(average > 0)) return std::nullopt;
  const auto [least, most] = std::minmax_element(window.begin(), window.end());
  // Least squares over x = 0 … n - 1, whose mean is (n - 1) / 2.
  const double middle = (n - 1) / 2;
  double xy = 0, xx = 0;
  for (size_t i = 0; i < kSteadyWindow; ++i) {
    const double x = static_cast<double>(i) - middle;
    xy += x * window[i];
    xx += x * x;
  }
  return Steadiness{(*most - *least) / average, std::abs(xy / xx) * (n - 1) / average};
}

void Conditioning::look(double now, uint64_t finished) {
  if (over() || now < begin_) return;
  if (!at_begin_) {
    at_begin_ = finished;
    begin_ = now;
    return;
  }
  const double elapsed = now - begin_;
  if (elapsed < length_) return;
  rates_.push_back(static_cast<double>(finished - *at_begin_) / elapsed);
  at_begin_ = finished;
  begin_ = now;
}

bool Conditioning::reached() const {
  const auto state = steadiness(rates_);
  return state && state->reached();
}

Said Conditioning::text() const {
  const auto state = steadiness(rates_);
  const Said rounds = said("steady.rounds", rates_.size(), fmt::format("{:.3g}", length_));
  if (!state) return said("steady.too_few", rounds, kSteadyWindow);
  return said(state->reached() ? "steady.reached" : "steady.missed", rounds,
              fmt::format("{:.3f}", state->range), fmt::format("{}", kMaxSteadyRange),
              fmt::format("{:.3f}", state->slope), fmt::format("{}", kMaxSteadySlope));
}

}  // namespace cb::io
