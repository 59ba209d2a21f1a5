#include "core/student_t.h"

#include <cmath>

namespace cb {
namespace {

constexpr double kTiny = 1e-300;
constexpr double kPrecision = 1e-15;
constexpr int kMaxTerms = 500;

double not_zero(double x) { return std::abs(x) < kTiny ? kTiny : x; }

// The continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8), evaluated
// from the front by Lentz's method.
double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), out = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    out *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    const double change = d * c;
    out *= change;
    if (std::abs(change - 1) < kPrecision) break;
  }
  return out;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast for small x, so larger x use the symmetry.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_p(double t, double df) {
  if (std::isinf(t)) return 0;
  return incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

double student_t_quantile(double p, double df) {
  double low = 0, high = 1;
  while (student_t_p(high, df) > p && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_p(middle, df) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace cb
