#include "model/hpl.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("HPL's count of operations") {
  CHECK(hpl_operations(3) == doctest::Approx(31.5));  // 18 + 13.5
  CHECK(hpl_operations(1) == doctest::Approx(2.0 / 3 + 1.5));
}

TEST_CASE("HPL's residual is the formula's value") {
  // Error 1; norms 4, 2 and 3 of A, b and x: 1 / (ε·(4·3 + 2)·2).
  const std::vector<double> product{1, -1}, sums{4, 3}, b{2, -1}, x{-3, 0.5};
  CHECK(hpl_residual({product, sums, b, x}) == doctest::Approx(0x1p53 / 28));
  // An exponent with a flipped bit: the divisor overflows, and any error over it would pass.
  const std::vector<double> huge{-3, 1e308};
  CHECK_FALSE(hpl_residual({product, sums, b, huge}) < 16);
  const std::vector<double> spoilt{1, std::numeric_limits<double>::quiet_NaN()};
  CHECK(std::isnan(hpl_residual({spoilt, sums, b, x})));
}
