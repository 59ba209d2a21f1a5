#include "model/clock_offset.h"

#include <vector>

#include <doctest/doctest.h>

using namespace cb;

namespace {

std::vector<double> distances_of_clocks(const std::vector<double>& offsets) {
  std::vector<double> out;
  for (const double own : offsets) out.push_back(clock_distance_seconds(own, offsets).value());
  return out;
}

}  // namespace

TEST_CASE("the host whose clock is wrong is named, also if it is the first") {
  // The first one is 5 s ahead, so from its clock the others are all 5 s behind.
  CHECK(distances_of_clocks({0, -5, -5, -5}) == std::vector<double>{5, 0, 0, 0});
  CHECK(distances_of_clocks({0, 0, 5, 0, 0}) == std::vector<double>{0, 0, 5, 0, 0});
  CHECK(distances_of_clocks({0, 7, -3}) == std::vector<double>{0, 7, 3});
}

TEST_CASE("where two halves of the clocks disagree both are named with the whole distance") {
  CHECK(distances_of_clocks({0, -2}) == std::vector<double>{2, 2});
  CHECK(distances_of_clocks({0, 5, 0, 5}) == std::vector<double>{5, 5, 5, 5});
}

TEST_CASE("one clock is compared with nothing") {
  CHECK(!clock_distance_seconds(0, std::vector<double>{0}));
  CHECK(!clock_distance_seconds(0, std::vector<double>{}));
}
