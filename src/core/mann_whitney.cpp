#include "core/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cb {
namespace {

constexpr size_t kMostExact = 30;  // samples together: 0.2 million additions

// All samples ranked together; ranks are doubled, so that midranks are whole numbers.
struct Ranks {
  std::vector<size_t> doubled;  // a's first, then b's
  double ties = 0;              // sum of t³ − t over the groups of equal samples
};

Ranks rank_together(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return all[i]; });
  Ranks out{.doubled = std::vector<size_t>(all.size())};
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && all[order[end]] == all[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) out.doubled[order[i]] = first + 1 + end;
    const auto t = static_cast<double>(end - first);
    out.ties += t * t * t - t;
    first = end;
  }
  return out;
}

// The share of the choices of n among all samples whose doubled rank sum is at least as far from
// its mean as `sum`.
double exact_p(const std::vector<size_t>& doubled, size_t n, size_t sum) {
  const size_t most = std::accumulate(doubled.begin(), doubled.end(), size_t{0});
  // ways[k][s]: choices of k of the samples seen so far with doubled rank sum s.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  size_t seen = 0;
  for (const size_t rank : doubled) {
    seen += rank;
    for (size_t k = n; k > 0; --k) {
      for (size_t s = seen; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
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

double normal_p(double u, double n, double m, double ties) {
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  if (variance <= 0) return 1;  // all samples are equal
  const double far = std::max(0.0, std::abs(u - n * m / 2) - 0.5);
  return std::min(1.0, std::erfc(far / std::sqrt(2 * variance)));
}

}  // namespace

MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b) {
  const Ranks ranks = rank_together(a, b);
  const size_t sum =
      std::accumulate(ranks.doubled.begin(),
                      ranks.doubled.begin() + static_cast<std::ptrdiff_t>(a.size()), size_t{0});
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  MannWhitney out;
  out.u = static_cast<double>(sum) / 2 - n * (n + 1) / 2;
  out.exact = a.size() + b.size() <= kMostExact;
  out.p = out.exact ? exact_p(ranks.doubled, a.size(), sum) : normal_p(out.u, n, m, ranks.ties);
  return out;
}

double smallest_p(uint64_t n, uint64_t m) {
  const auto x = static_cast<double>(n);
  const auto y = static_cast<double>(m);
  return std::min(1.0,
                  2 * std::exp(std::lgamma(x + 1) + std::lgamma(y + 1) - std::lgamma(x + y + 1)));
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return p[i]; });
  std::vector<double> out(p.size());
  double least = 1;
  for (size_t rank = p.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    least = std::min(least, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    out[i] = least;
  }
  return out;
}

}  // namespace cb
