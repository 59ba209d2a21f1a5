#include "bench/gpu/sustained.h"

#include <vector>

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("what heat took: the last tenth over the best") {
  std::vector<double> rates(100, 700.0);
  CHECK(sustained_share(rates) == 1.0);
  // The GPU throttles to 80 % after three tenths and stays there.
  for (size_t i = 30; i < rates.size(); ++i) rates[i] = 560;
  CHECK(sustained_share(rates).value() == doctest::Approx(0.8));
  // A slow start is no throttling.
  std::vector<double> cold(100, 700.0);
  for (size_t i = 0; i < 10; ++i) cold[i] = 300;
  CHECK(sustained_share(cold) == 1.0);
  // A single dip is not the tenth's median.
  std::vector<double> dip(100, 700.0);
  dip[99] = 10;
  CHECK(sustained_share(dip) == 1.0);
}

TEST_CASE("too few rates do not tell of heat") {
  CHECK_FALSE(sustained_share(std::vector<double>(49, 1.0)).has_value());
  CHECK(sustained_share(std::vector<double>(50, 1.0)).has_value());
  CHECK_FALSE(sustained_share(std::vector<double>(60, 0.0)).has_value());
}
