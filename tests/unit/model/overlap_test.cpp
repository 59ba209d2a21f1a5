#include "model/overlap.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("the share of a collective that a product hides") {
  // 20 ms of product, 8 ms of collective, 22 ms both: 2 ms are exposed, three quarters hidden.
  const OverlapTimes some{.product = 0.020, .collective = 0.008, .both = 0.022};
  CHECK(exposed_seconds(some) == doctest::Approx(0.002));
  CHECK(hidden_share(some) == doctest::Approx(0.75));
  CHECK(hidden_share({.product = 0.020, .collective = 0.008, .both = 0.020}) == doctest::Approx(1));
  CHECK(hidden_share({.product = 0.020, .collective = 0.008, .both = 0.028}) == doctest::Approx(0));
  CHECK(hidden_share({.product = 0.020, .collective = 0.008, .both = 0.032}) ==
        doctest::Approx(-0.5));
}
