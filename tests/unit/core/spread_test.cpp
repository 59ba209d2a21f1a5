// How exactly a median is known, as a share of it or as the interval.
#include <doctest/doctest.h>

#include "core/spread.h"

using namespace cb;

namespace {

Summary known(double median, double low, double high) {
  Summary out{.n = 20, .median = median};
  out.ci95 = {low, high};
  return out;
}

}  // namespace

TEST_CASE("up to the median itself the interval is a share of it, beyond it is given itself") {
  CHECK(spread_text(known(1e-6, 0.9e-6, 1.1e-6), "seconds") == "±10.0 %");
  CHECK(spread_text(known(1e-6, 0.9e-6, 1.1e-6), "seconds", "± ") == "± 10.0 %");
  CHECK(spread_text(known(1e-6, 0, 2e-6), "seconds") == "±100.0 %");
  CHECK(spread_text(known(1e-9, 0.5e-9, 100e-9), "seconds") == "0.500 ns … 100 ns");
  CHECK(spread_text(known(0, 0, 4e-6), "seconds") == "0 ns … 4.00 µs");
}

TEST_CASE("nothing is said where nothing varies, and of few samples") {
  CHECK(spread_text(known(0, 0, 0), "seconds").empty());
  CHECK(spread_text(known(3, 3, 3), "seconds") == "±0.0 %");
  CHECK(spread_text(Summary{.n = 5, .median = 1}, "seconds").empty());
}
