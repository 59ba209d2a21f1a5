#include "core/stats.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.h"

namespace cb {
namespace {

std::vector<double> sorted_copy(std::span<const double> samples) {
  if (samples.empty()) throw Error("statistics of no samples were asked for");
  std::vector<double> out(samples.begin(), samples.end());
  std::sort(out.begin(), out.end());
  return out;
}

// Returns P(B(n, 1/2) = k).
double binomial_half(double n, double k) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) -
                  n * std::log(2.0));
}

// Returns the largest k with P(B(n, 1/2) < k) <= 0.025. The stop rule calls this after every
// sample, so the sum begins nine standard deviations below the centre (what is below that is under
// 1e-18) and computes each term from the last: P(k + 1) = P(k) (n - k) / (k + 1).
uint64_t lower_rank(uint64_t n) {
  const double nd = static_cast<double>(n);
  double k = std::max(0.0, std::floor(nd / 2 - 4.5 * std::sqrt(nd)));
  double term = binomial_half(nd, k);
  double cumulative = term;
  while (cumulative <= 0.025) {
    term *= (nd - k) / (k + 1);
    ++k;
    cumulative += term;
  }
  return static_cast<uint64_t>(k);
}

}  // namespace

double quantile_of_sorted(std::span<const double> ascending, double q) {
  if (ascending.empty()) throw Error("a quantile of no samples was asked for");
  if (!(q >= 0 && q <= 1)) throw Error("a quantile outside 0 to 1 was asked for");
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(std::floor(position));
  const size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] +
         (ascending[above] - ascending[below]) * (position - static_cast<double>(below));
}

double median(std::span<const double> samples) {
  return quantile_of_sorted(sorted_copy(samples), 0.5);
}

double median_absolute_deviation(std::span<const double> samples) {
  const double centre = median(samples);
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double s : samples) deviations.push_back(std::abs(s - centre));
  return median(deviations);
}

double mean(std::span<const double> samples) {
  if (samples.empty()) throw Error("a mean of no samples was asked for");
  double sum = 0;
  for (const double s : samples) sum += s;
  return sum / static_cast<double>(samples.size());
}

std::optional<double> standard_deviation(std::span<const double> samples) {
  if (samples.size() < 2) return std::nullopt;
  const double centre = mean(samples);
  double squares = 0;
  for (const double s : samples) squares += (s - centre) * (s - centre);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

std::optional<std::array<uint64_t, 2>> median_interval_ranks(uint64_t n) {
  if (n < 6) return std::nullopt;
  const uint64_t lower = lower_rank(n);
  return std::array{lower, n - lower + 1};
}

Summary summarise(std::span<const double> samples) {
  const std::vector<double> ascending = sorted_copy(samples);
  Summary s;
  s.n = ascending.size();
  s.min = ascending.front();
  s.p05 = quantile_of_sorted(ascending, 0.05);
  s.median = quantile_of_sorted(ascending, 0.5);
  s.p95 = quantile_of_sorted(ascending, 0.95);
  s.p99 = quantile_of_sorted(ascending, 0.99);
  s.max = ascending.back();
  s.mean = mean(samples);
  s.stdev = standard_deviation(samples);
  if (const auto ranks = median_interval_ranks(s.n)) {
    s.ci95 = std::array{ascending[(*ranks)[0] - 1], ascending[(*ranks)[1] - 1]};
  }
  return s;
}

double statistic_of(const Summary& s, std::string_view name) {
  if (name == "min") return s.min;
  if (name == "p05") return s.p05;
  if (name == "median") return s.median;
  if (name == "mean") return s.mean;
  if (name == "p95") return s.p95;
  if (name == "p99") return s.p99;
  if (name == "max") return s.max;
  throw Error("there is no statistic of the name " + std::string(name));
}

std::optional<double> relative_half_width(const Summary& summary) {
  if (!summary.ci95 || summary.median == 0) return std::nullopt;
  return ((*summary.ci95)[1] - (*summary.ci95)[0]) / 2 / std::abs(summary.median);
}

}  // namespace cb
