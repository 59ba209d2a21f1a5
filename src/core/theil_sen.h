#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace cb {

// A line through points by the median of the slopes of all pairs (Theil 1950; Sen 1968, J. Am.
// Stat. Assoc. 63:1379): an outlier in less than 29 % of the points does not move it.
struct TheilSen {
  double slope = 0;      // in the unit of y over that of x
  double intercept = 0;  // median of y - slope * x
  // Sen's interval of the slope, two-sided. Nothing if there are too few points for the confidence.
  std::optional<std::array<double, 2>> interval = {};
};

// Fits the points; x must have two different values at least, else the answer is nothing.
// `confidence` is below 1. Compares all pairs: thin more than a few thousand points first.
std::optional<TheilSen> theil_sen(std::span<const double> x, std::span<const double> y,
                                  double confidence);

// How many slopes, counted from each end, lie outside of Sen's interval for n points: the greatest
// m with 2 P(D < m) <= 1 - confidence, where D is the number of discordant pairs of n points in
// random order (Kendall). Exact up to kExactKendall points, then by the normal approximation with
// variance n (n - 1) (2 n + 5) / 18. The interval is from the slope of rank m to that of rank
// N + 1 - m, of N pairs. 0: n points are too few.
uint64_t sen_rank(uint64_t n, double confidence);
inline constexpr uint64_t kExactKendall = 60;

// Returns the z that a standard normal variable exceeds in magnitude with probability p, in (0, 1].
double normal_quantile(double p);

}  // namespace cb
