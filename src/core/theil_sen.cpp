#include "core/theil_sen.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/stats.h"

namespace cb {
namespace {

// Probabilities of 0, 1, 2 … discordant pairs among n points in random order: with the k-th point
// come 0 to k - 1 more, each as likely.
std::vector<double> discordant_pairs(uint64_t n) {
  std::vector<double> out{1};
  for (uint64_t k = 2; k <= n; ++k) {
    std::vector<double> next(out.size() + k - 1);
    double window = 0;
    for (size_t i = 0; i < next.size(); ++i) {
      if (i < out.size()) window += out[i];
      if (i >= k) window -= out[i - k];
      next[i] = window / static_cast<double>(k);
    }
    out = std::move(next);
  }
  return out;
}

uint64_t exact_rank(uint64_t n, double alpha) {
  const std::vector<double> p = discordant_pairs(n);
  double below = 0;
  for (size_t m = 0; m < p.size(); ++m) {
    below += p[m];
    if (2 * below > alpha * (1 + 1e-12)) return m;
  }
  return 0;
}

}  // namespace

double normal_quantile(double p) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(z / std::sqrt(2.0)) > p ? low : high) = z;
  }
  return (low + high) / 2;
}

uint64_t sen_rank(uint64_t n, double confidence) {
  if (n < 2) return 0;
  const double alpha = 1 - confidence;
  if (n <= kExactKendall) return exact_rank(n, alpha);
  const auto count = static_cast<double>(n);
  const double pairs = count * (count - 1) / 2;
  const double spread = std::sqrt(count * (count - 1) * (2 * count + 5) / 18);
  const double rank = (pairs - normal_quantile(alpha) * spread) / 2;
  return rank < 1 ? 0 : static_cast<uint64_t>(rank);
}

std::optional<TheilSen> theil_sen(std::span<const double> x, std::span<const double> y,
                                  double confidence) {
  std::vector<double> slopes;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = i + 1; j < x.size(); ++j) {
      if (x[i] != x[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
    }
  }
  if (slopes.empty()) return std::nullopt;
  std::ranges::sort(slopes);
  TheilSen out{.slope = quantile_of_sorted(slopes, 0.5)};
  std::vector<double> rest;
  for (size_t i = 0; i < x.size(); ++i) rest.push_back(y[i] - out.slope * x[i]);
  out.intercept = median(rest);
  const uint64_t rank = sen_rank(x.size(), confidence);
  if (rank >= 1 && 2 * rank <= slopes.size())
    out.interval = {slopes[rank - 1], slopes[slopes.size() - rank]};
  return out;
}

}  // namespace cb
