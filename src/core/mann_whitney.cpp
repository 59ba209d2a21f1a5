#include "core/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace cb {
namespace {

constexpr size_t kMaxExact = 30;  // samples of both together: 0.4 million additions

// Returns twice the rank of each sample, first a's, then b's: doubled midranks are whole numbers.
std::vector<size_t> doubled_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return all[i]; });
  std::vector<size_t> out(all.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && all[order[end]] == all[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) out[order[i]] = first + 1 + end;
    first = end;
  }
  return out;
}

// Returns the share of all choices of n samples whose doubled rank sum is at least as far from its
// mean as `sum` is.
double exact_p(const std::vector<size_t>& doubled, size_t n, size_t sum) {
  const size_t most = std::accumulate(doubled.begin(), doubled.end(), size_t{0});
  // ways[k][s]: number of choices of k of the samples so far that have doubled rank sum s.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  for (const size_t rank : doubled) {
    for (size_t k = n; k > 0; --k) {
      for (size_t s = most; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
    }
  }
  const double mean = static_cast<double>(n * most) / static_cast<double>(doubled.size());
  const double far = std::abs(static_cast<double>(sum) - mean);
  double total = 0;
  double beyond = 0;
  for (size_t s = 0; s <= most; ++s) {
    total += ways[n][s];
    if (std::abs(static_cast<double>(s) - mean) >= far - 1e-9) beyond += ways[n][s];
  }
  return beyond / total;
}

}  // namespace

std::optional<double> exact_mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty() || a.size() + b.size() > kMaxExact) return std::nullopt;
  const std::vector<size_t> ranks = doubled_ranks(a, b);
  const auto end_of_a = ranks.begin() + static_cast<std::ptrdiff_t>(a.size());
  return exact_p(ranks, a.size(), std::accumulate(ranks.begin(), end_of_a, size_t{0}));
}

double smallest_p(uint64_t n, uint64_t m) {
  const auto x = static_cast<double>(n);
  const auto y = static_cast<double>(m);
  return std::min(1.0,
                  2 * std::exp(std::lgamma(x + 1) + std::lgamma(y + 1) - std::lgamma(x + y + 1)));
}

}  // namespace cb
