#pragma once

#include <cstdint>

namespace cb {

// Returns P(a, x), the regularised lower incomplete gamma function (Abramowitz & Stegun 6.5.1), for
// a > 0 and x >= 0.
double incomplete_gamma(double a, double x);

// Returns the x that a chi-square variable with `df` degrees of freedom stays below with
// probability `p`, 0 <= p < 1.
double chi_square_quantile(double p, double df);

// Exact one-sided bounds of the mean of a Poisson variable that was seen to be `count` (Garwood
// 1936, Biometrika 28:437): the mean lies below the upper bound, and above the lower one, each with
// this confidence. chi2(confidence; 2 count + 2) / 2, and chi2(1 - confidence; 2 count) / 2, which
// is 0 for a count of 0.
double poisson_upper(uint64_t count, double confidence);
double poisson_lower(uint64_t count, double confidence);

}  // namespace cb
