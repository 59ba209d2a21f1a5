#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cb {

// Numbers with a larger magnitude are no measurement, and their squares would overflow.
inline constexpr double kMaxSample = 1e100;

// Order statistics and moments of a set of samples, in the samples' own unit.
struct Summary {
  uint64_t n = 0;
  double min = 0;
  double p05 = 0;
  double median = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;
  std::optional<double> stdev;  // sample standard deviation; needs two samples
  std::optional<std::array<double, 2>>
      ci95;  // non-parametric interval of the median; needs six samples
};

// Returns the q-quantile (0 <= q <= 1) of ascending samples, linearly interpolated between order
// statistics (Hyndman & Fan 1996, type 7). Needs at least one sample.
double quantile_of_sorted(std::span<const double> ascending, double q);

double median(std::span<const double> samples);

// Returns the median of the absolute deviations from the median, unscaled.
double median_absolute_deviation(std::span<const double> samples);

double mean(std::span<const double> samples);
std::optional<double> standard_deviation(std::span<const double> samples);

// Returns the 1-based ranks (lower, upper) of the order statistics that enclose the median with at
// least 95 % confidence, from the binomial distribution B(n, 1/2) (Conover, Practical Nonparametric
// Statistics, §3.2). Nothing below n = 6.
std::optional<std::array<uint64_t, 2>> median_interval_ranks(uint64_t n);

// Computes everything in Summary. Needs at least one sample; all must be finite.
Summary summarise(std::span<const double> samples);

// Returns the number with that name: min p05 median mean p95 p99 max. Throws Error for another
// name.
double statistic_of(const Summary& summary, std::string_view name);

// Returns half the width of ci95 over the median: how exactly the median is known, as a share of
// it.
std::optional<double> relative_half_width(const Summary& summary);

}  // namespace cb
