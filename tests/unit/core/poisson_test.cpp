#include "core/poisson.h"

#include <cmath>
#include <initializer_list>

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("chi-square against printed tables") {
  // Abramowitz & Stegun, table 26.8; the columns give the probability of exceeding.
  CHECK(chi_square_quantile(0.95, 2) == doctest::Approx(5.99147).epsilon(1e-6));
  CHECK(chi_square_quantile(0.95, 1) == doctest::Approx(3.84146).epsilon(1e-6));
  CHECK(chi_square_quantile(0.90, 4) == doctest::Approx(7.77944).epsilon(1e-6));
  CHECK(chi_square_quantile(0.05, 10) == doctest::Approx(3.94030).epsilon(1e-5));
  CHECK(chi_square_quantile(0.975, 30) == doctest::Approx(46.9792).epsilon(1e-6));
  CHECK(chi_square_quantile(0.95, 100) == doctest::Approx(124.342).epsilon(1e-5));
  CHECK(chi_square_quantile(0, 5) == 0);
}

TEST_CASE("the incomplete gamma function in closed form") {
  for (const double x : {0.01, 0.5, 1.0, 3.0, 20.0}) {
    CHECK(incomplete_gamma(1, x) == doctest::Approx(1 - std::exp(-x)).epsilon(1e-12));
    CHECK(incomplete_gamma(2, x) == doctest::Approx(1 - std::exp(-x) * (1 + x)).epsilon(1e-10));
    CHECK(incomplete_gamma(0.5, x) == doctest::Approx(std::erf(std::sqrt(x))).epsilon(1e-12));
  }
  CHECK(incomplete_gamma(3, 0) == 0);
}

TEST_CASE("Poisson bounds against printed tables") {
  // Nothing seen: -ln(1 - confidence).
  CHECK(poisson_upper(0, 0.95) == doctest::Approx(std::log(20.0)).epsilon(1e-10));
  CHECK(poisson_upper(0, 0.90) == doctest::Approx(std::log(10.0)).epsilon(1e-10));
  CHECK(poisson_lower(0, 0.95) == 0);
  // Garwood's table, two-sided 95 %: 97.5 % on each side.
  CHECK(poisson_lower(1, 0.975) == doctest::Approx(0.0253).epsilon(1e-3));
  CHECK(poisson_upper(1, 0.975) == doctest::Approx(5.572).epsilon(1e-4));
  CHECK(poisson_lower(5, 0.975) == doctest::Approx(1.623).epsilon(1e-3));
  CHECK(poisson_upper(5, 0.975) == doctest::Approx(11.668).epsilon(1e-4));
  CHECK(poisson_lower(20, 0.975) == doctest::Approx(12.217).epsilon(1e-4));
  CHECK(poisson_upper(20, 0.975) == doctest::Approx(30.888).epsilon(1e-4));
}

TEST_CASE("the bounds are those at which the tail has the wanted probability") {
  for (const uint64_t k : {1U, 2U, 7U, 30U}) {
    double tail = 0, term = 1;
    const double mean = poisson_upper(k, 0.95);
    for (uint64_t i = 0; i <= k; ++i) {
      tail += term * std::exp(-mean);
      term *= mean / static_cast<double>(i + 1);
    }
    CHECK(tail == doctest::Approx(0.05).epsilon(1e-8));
  }
}
