#include "core/student_t.h"

#include <cmath>
#include <initializer_list>
#include <limits>

#include <doctest/doctest.h>

using cb::student_t_p;
using cb::student_t_quantile;

TEST_CASE("Student's t against printed tables") {
  // Abramowitz & Stegun, table 26.10, two-sided.
  CHECK(student_t_quantile(0.05, 4) == doctest::Approx(2.776).epsilon(2e-4));
  CHECK(student_t_quantile(0.05, 12) == doctest::Approx(2.179).epsilon(3e-4));
  CHECK(student_t_quantile(0.01, 1) == doctest::Approx(63.657).epsilon(1e-5));
  CHECK(student_t_quantile(0.01, 30) == doctest::Approx(2.750).epsilon(2e-4));
  CHECK(student_t_quantile(0.05, 1e6) == doctest::Approx(1.95996).epsilon(1e-5));
}

TEST_CASE("p and its quantile undo each other, and the ends are right") {
  for (const double df : {1.0, 3.5, 12.0, 200.0}) {
    for (const double p : {0.9, 0.5, 0.05, 1e-3, 1e-6})
      CHECK(student_t_p(student_t_quantile(p, df), df) == doctest::Approx(p).epsilon(1e-6));
    CHECK(student_t_p(0, df) == doctest::Approx(1));
    CHECK(student_t_p(2, df) == student_t_p(-2, df));
  }
  CHECK(student_t_p(1, 1) == doctest::Approx(0.5));  // Cauchy: exact
}

TEST_CASE("p of few degrees of freedom, in closed form") {
  for (const double t : {0.01, 0.3, 1.0, 2.5, 10.0, 300.0}) {
    const double x = t * t;
    CHECK(student_t_p(t, 1) ==
          doctest::Approx(std::atan2(1, t) * 2 / 3.14159265358979324).epsilon(1e-9));
    CHECK(student_t_p(t, 2) == doctest::Approx(2 / (2 + x + t * std::sqrt(2 + x))).epsilon(1e-9));
    const double of_four = 1 - t / std::sqrt(4 + x) * (1 + 2 / (4 + x));
    CHECK(std::abs(student_t_p(t, 4) - of_four) < 1e-12);
  }
  CHECK(student_t_p(std::numeric_limits<double>::infinity(), 3) == 0);
  // Far out and with many degrees of freedom it is the normal distribution's: erfc(3 / √2).
  CHECK(student_t_p(3, 1e7) == doctest::Approx(2.6998e-3).epsilon(1e-4));
}
