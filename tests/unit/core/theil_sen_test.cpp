#include "core/theil_sen.h"

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace cb;

namespace {

std::vector<double> whole_numbers(size_t n) {
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<double>(i));
  return out;
}

}  // namespace

TEST_CASE("Theil-Sen: five points by hand") {
  // Slopes of the ten pairs: 1 1 1 1 1 1, and with the outlier 17 17.5 18 … : the median stays 1.
  const std::vector<double> x{0, 1, 2, 3, 4}, y{1, 2, 3, 4, 100};
  const auto fit = theil_sen(x, y, 0.95);
  REQUIRE(fit);
  CHECK(fit->slope == 1);
  CHECK(fit->intercept == 1);
  CHECK_FALSE(theil_sen(std::vector<double>{2, 2}, std::vector<double>{1, 5}, 0.95));
}

TEST_CASE("Sen's interval: the example of Hollander and Wolfe, by hand") {
  // n = 5, 90 %: P(D = 0) = 1/120 and P(D <= 1) = 5/120, so 2 P(D < 2) = 1/12 <= 0.1 and m = 2
  // (P(D <= 2) = 14/120 is too much).
  CHECK(sen_rank(5, 0.90) == 2);
  CHECK(sen_rank(5, 0.95) == 1);  // 2/120 <= 0.05 < 10/120
  CHECK(sen_rank(4, 0.95) == 0);  // 2/24 > 0.05: four points are too few
  CHECK(sen_rank(1, 0.95) == 0);
  const std::vector<double> x{0, 1, 2, 3, 4}, y{0, 1, 4, 9, 16};
  // Slopes: 1 2 3 4, 3 4 5, 5 6, 7; ascending 1 2 3 3 4 4 5 5 6 7.
  const auto fit = theil_sen(x, y, 0.90);
  REQUIRE(fit);
  CHECK(fit->slope == 4);
  REQUIRE(fit->interval);
  CHECK((*fit->interval)[0] == 2);
  CHECK((*fit->interval)[1] == 6);
  CHECK_FALSE(
      theil_sen(std::vector<double>{0, 1, 2, 3}, std::vector<double>{0, 1, 2, 3}, 0.95)->interval);
}

TEST_CASE("the exact rank and the normal approximation meet") {
  // n = 60: variance 60 · 59 · 125 / 18 = 24583.3, z 1.95996: (1770 - 307.3) / 2 = 731.3.
  CHECK(std::abs(static_cast<double>(sen_rank(60, 0.95)) - 731) <= 2);
  // n = 61: variance 61 · 60 · 127 / 18 = 25823.3: (1830 - 314.96) / 2 = 757.5.
  CHECK(sen_rank(61, 0.95) == 757);
  CHECK(normal_quantile(0.05) == doctest::Approx(1.959964).epsilon(1e-6));
  CHECK(normal_quantile(1) == doctest::Approx(0).epsilon(1e-9));
}

TEST_CASE("false alarms of the interval over 200 seeds of flat noise, and misses of a drift") {
  const std::vector<double> x = whole_numbers(40);
  int alarms = 0, misses = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 1);
    std::vector<double> flat, drifting;
    for (const double at : x) {
      flat.push_back(100 + noise(random));
      drifting.push_back(100 - at + noise(random));  // one standard deviation a step
    }
    const auto level = theil_sen(x, flat, 0.95)->interval;
    const auto fall = theil_sen(x, drifting, 0.95)->interval;
    REQUIRE((level && fall));
    alarms += (*level)[0] > 0 || (*level)[1] < 0 ? 1 : 0;
    misses += (*fall)[1] < 0 ? 0 : 1;
  }
  MESSAGE("false alarms: " << alarms << " of 200 at 95 %, misses of a drift: " << misses);
  CHECK(alarms <= 20);  // 10 are expected; 20 or more come by chance in 0.4 % of all draws
  CHECK(alarms >= 2);   // an interval that never misses its mark would be no 95 % interval
  CHECK(misses == 0);
}
