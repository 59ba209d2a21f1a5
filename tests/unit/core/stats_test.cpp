#include "core/stats.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/error.h"

using namespace cb;
using Ranks = std::array<uint64_t, 2>;

TEST_CASE("quantiles of type 7, as R and numpy give them by default") {
  const std::vector<double> four{1, 2, 3, 4};
  CHECK(quantile_of_sorted(four, 0) == 1);
  CHECK(quantile_of_sorted(four, 0.25) == 1.75);
  CHECK(quantile_of_sorted(four, 0.5) == 2.5);
  CHECK(quantile_of_sorted(four, 0.75) == 3.25);
  CHECK(quantile_of_sorted(four, 1) == 4);
  // R: quantile(c(15, 20, 35, 40, 50), 0.4) is 29.
  CHECK(quantile_of_sorted(std::vector<double>{15, 20, 35, 40, 50}, 0.4) == doctest::Approx(29));
  CHECK(quantile_of_sorted(std::vector<double>{7}, 0.99) == 7);
}

TEST_CASE("a quantile needs samples and a share") {
  const std::vector<double> one{1};
  CHECK_THROWS_AS(quantile_of_sorted({}, 0.5), Error);
  CHECK_THROWS_AS(quantile_of_sorted(one, -0.01), Error);
  CHECK_THROWS_AS(quantile_of_sorted(one, 1.01), Error);
  CHECK_THROWS_AS(quantile_of_sorted(one, std::nan("")), Error);
}

TEST_CASE("median, deviations and mean by hand") {
  CHECK(median(std::vector<double>{9, 1, 5}) == 5);
  CHECK(median(std::vector<double>{9, 1, 5, 6}) == 5.5);
  // Deviations from the median 2 of {1,1,2,2,4,6,9}: {1,1,0,0,2,4,7}, their median is 1.
  CHECK(median_absolute_deviation(std::vector<double>{1, 1, 2, 2, 4, 6, 9}) == 1);
  CHECK(median_absolute_deviation(std::vector<double>{5, 5, 5, 100}) == 0);
  CHECK(mean(std::vector<double>{1, 2, 6}) == 3);
  // Squares of {2,4,4,4,5,5,7,9} about 5: 9+1+1+1+0+0+4+16 = 32, over 7.
  CHECK(*standard_deviation(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9}) ==
        doctest::Approx(std::sqrt(32.0 / 7)).epsilon(1e-15));
  CHECK_FALSE(standard_deviation(std::vector<double>{3}).has_value());
  CHECK_THROWS_AS(mean({}), Error);
  CHECK_THROWS_AS(median({}), Error);
  CHECK_THROWS_AS(summarise({}), Error);
}

TEST_CASE("ranks of the 95 % interval of the median agree with published tables") {
  for (uint64_t n = 0; n < 6; ++n) CHECK_FALSE(median_interval_ranks(n).has_value());
  // Altman et al., Statistics with Confidence, table 18.4.
  CHECK(*median_interval_ranks(6) == Ranks{1, 6});
  CHECK(*median_interval_ranks(7) == Ranks{1, 7});
  CHECK(*median_interval_ranks(8) == Ranks{1, 8});
  CHECK(*median_interval_ranks(9) == Ranks{2, 8});
  CHECK(*median_interval_ranks(10) == Ranks{2, 9});
  CHECK(*median_interval_ranks(12) == Ranks{3, 10});
  CHECK(*median_interval_ranks(15) == Ranks{4, 12});
  CHECK(*median_interval_ranks(20) == Ranks{6, 15});
  CHECK(*median_interval_ranks(25) == Ranks{8, 18});
  CHECK(*median_interval_ranks(50) == Ranks{18, 33});
  CHECK(*median_interval_ranks(100) == Ranks{40, 61});
}

TEST_CASE("ranks beyond the tables are those of the exact binomial sum") {
  // From sums of integer binomial coefficients.
  CHECK(*median_interval_ranks(1000) == Ranks{469, 532});
  CHECK(*median_interval_ranks(2000) == Ranks{956, 1045});
  CHECK(*median_interval_ranks(2001) == Ranks{957, 1045});
  CHECK(*median_interval_ranks(10000) == Ranks{4902, 5099});
  const double n = 1e9;
  const auto ranks = *median_interval_ranks(static_cast<uint64_t>(n));
  CHECK(static_cast<double>(ranks[0]) ==
        doctest::Approx(n / 2 - 0.98 * std::sqrt(n)).epsilon(1e-8));
}

TEST_CASE("a summary holds what its samples say") {
  const std::vector<double> samples{3, 1, 2, 6, 5, 4};
  const Summary s = summarise(samples);
  CHECK(s.n == 6);
  CHECK(s.min == 1);
  CHECK(s.p05 == 1.25);
  CHECK(s.median == 3.5);
  CHECK(s.p95 == 5.75);
  CHECK(s.p99 == doctest::Approx(5.95));
  CHECK(s.max == 6);
  CHECK(s.mean == 3.5);
  CHECK(*s.stdev == doctest::Approx(std::sqrt(3.5)));
  CHECK(*s.ci95 == std::array{1.0, 6.0});
  CHECK(*relative_half_width(s) == doctest::Approx(2.5 / 3.5));
}

TEST_CASE("too few samples have no interval, a median of zero no relative width") {
  const Summary five = summarise(std::vector<double>{1, 2, 3, 4, 5});
  CHECK_FALSE(five.ci95.has_value());
  CHECK_FALSE(relative_half_width(five).has_value());
  CHECK_FALSE(relative_half_width(summarise(std::vector<double>(10, 0.0))).has_value());
}
