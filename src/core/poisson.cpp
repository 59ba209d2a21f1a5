#include "core/poisson.h"

#include <algorithm>
#include <cmath>

namespace cb {
namespace {

constexpr double kGammaPrecision = 1e-15;
constexpr int kGammaTerms = 100000;

// x^a e^-x / Gamma(a): what the series and the fraction have in common.
double gamma_front(double a, double x) { return std::exp(a * std::log(x) - x - std::lgamma(a)); }

// The series of P(a, x) (Abramowitz & Stegun 6.5.29), which converges fast for x < a + 1.
double gamma_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kGammaTerms && term > kGammaPrecision * sum; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return gamma_front(a, x) * sum;
}

// 1 - P(a, x) as a continued fraction (Abramowitz & Stegun 6.5.31), from the front by Lentz's
// method; for x >= a + 1.
double gamma_fraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, out = d;
  for (int n = 1; n < kGammaTerms; ++n) {
    const double numerator = -n * (n - a);
    b += 2;
    d = numerator * d + b;
    c = b + numerator / c;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    if (std::abs(c) < tiny) c = tiny;
    const double change = c * d;
    out *= change;
    if (std::abs(change - 1) < kGammaPrecision) break;
  }
  return gamma_front(a, x) * out;
}

}  // namespace

double incomplete_gamma(double a, double x) {
  if (x <= 0) return 0;
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double chi_square_quantile(double p, double df) {
  if (p <= 0) return 0;
  double low = 0, high = std::max(df, 1.0);
  while (incomplete_gamma(df / 2, high / 2) < p && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (incomplete_gamma(df / 2, middle / 2) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double poisson_upper(uint64_t count, double confidence) {
  return chi_square_quantile(confidence, 2 * static_cast<double>(count) + 2) / 2;
}

double poisson_lower(uint64_t count, double confidence) {
  return count == 0 ? 0 : chi_square_quantile(1 - confidence, 2 * static_cast<double>(count)) / 2;
}

}  // namespace cb
