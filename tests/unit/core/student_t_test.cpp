#include "core/student_t.h"

#include <initializer_list>

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
