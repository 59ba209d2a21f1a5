#include "bench/collectives/grid.h"

#include <set>

#include <doctest/doctest.h>

#include "bench/collectives/figures.h"
#include "bench/collectives/group.h"

using namespace cb;

namespace {

std::string problem_of(const std::string& split, int ranks) {
  Problems problems;
  const auto shape = parse_grid(split, ranks, problems);
  CHECK(shape.has_value() == problems.empty());
  return problems.empty() ? "" : problems.list.front().what;
}

}  // namespace

TEST_CASE(
    "a grid's shape: three numbers that multiply to the ranks, one of them may be left open") {
  Problems problems;
  CHECK(parse_grid("grid:4,2,1", 8, problems) == GridShape{4, 2, 1});
  CHECK(parse_grid("grid:*,8,2", 64, problems) == GridShape{4, 8, 2});
  CHECK(parse_grid("grid:*x8x2", 64, problems) == GridShape{4, 8, 2});
  CHECK(parse_grid("grid:2,*,2", 12, problems) == GridShape{2, 3, 2});
  CHECK(problems.empty());
  CHECK(problem_of("grid:4,2", 8).find("write grid:DP,TP,PP") != std::string::npos);
  CHECK(problem_of("grid:4,2,2", 8).find("needs 16 ranks, the job has 8") != std::string::npos);
  CHECK(problem_of("grid:*,3,1", 8).find("needs a multiple of 3 ranks") != std::string::npos);
  CHECK(problem_of("grid:*,16,1", 8).find("needs a multiple of 16 ranks") != std::string::npos);
  CHECK(problem_of("grid:*,*,1", 8).find("'*' is no number of ranks") != std::string::npos);
  CHECK(problem_of("grid:0,2,4", 8).find("'0' is no number") != std::string::npos);
  CHECK(problem_of("grid:-2,-4,1", 8).find("'-2' is no number") != std::string::npos);
  CHECK(problem_of("grid:1,1,1", 1).find("two ranks or more") != std::string::npos);
}

TEST_CASE("tensor-parallel ranks are neighbours, then data, then pipeline") {
  const GridShape shape{.dp = 2, .tp = 2, .pp = 2};
  const auto groups = [&](GridDimension d) {
    std::vector<int> out;
    for (int r = 0; r < 8; ++r) out.push_back(grid_group(shape, d, r));
    return out;
  };
  CHECK(groups(GridDimension::tp) == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(groups(GridDimension::dp) == std::vector<int>{0, 1, 0, 1, 2, 3, 2, 3});
  CHECK(groups(GridDimension::pp) == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(grid_dimensions({.dp = 4, .tp = 1, .pp = 2}) ==
        std::vector<GridDimension>{GridDimension::dp, GridDimension::pp});
}

TEST_CASE("every rank is in one group of each dimension, which has that many ranks") {
  for (const GridShape& shape : {GridShape{4, 8, 2}, GridShape{3, 1, 5}, GridShape{1, 2, 7}}) {
    for (const GridDimension d : kGridDimensions) {
      std::map<int, int> members;
      for (int r = 0; r < shape.ranks(); ++r) ++members[grid_group(shape, d, r)];
      CHECK(static_cast<int>(members.size()) == shape.ranks() / grid_size(shape, d));
      for (const auto& [group, count] : members) {
        CHECK(group < shape.ranks() / grid_size(shape, d));
        CHECK(count == grid_size(shape, d));
      }
    }
    // Two ranks share at most one group: the dimensions are orthogonal.
    for (int a = 0; a < shape.ranks(); ++a) {
      for (int b = 0; b < a; ++b) {
        int shared = 0;
        for (const GridDimension d : grid_dimensions(shape))
          shared += grid_group(shape, d, a) == grid_group(shape, d, b) ? 1 : 0;
        CHECK(shared <= 1);
      }
    }
  }
}

TEST_CASE("a grid is refused where its numbers or the GPUs of a rank do not fit") {
  RankMap place{.host = "n1", .hosts = {"n1"}, .host_of_rank = {0, 0, 0, 0}};
  const auto count = [&](const std::string& split, int members) {
    Problems problems;
    check_split(place, split, members, problems);
    return problems.list.size();
  };
  CHECK(count("grid:2,2,1", 1) == 0);
  CHECK(count("grid:2,2,2", 1) == 1);
  CHECK(count("grid:2,2,1", 2) == 1);
}

TEST_CASE("what a rank measured in its lanes becomes one: the slowest lane, any wrong element") {
  PointResult a{
      .seconds = {1, 5}, .slowest_seconds = {1, 5}, .late_seconds = {0.1, 0}, .checks = 4};
  PointResult b{
      .seconds = {2, 3}, .slowest_seconds = {2, 3}, .late_seconds = {0, 0.2}, .checks = 4};
  const PointResult joined = joined_lanes({a, b});
  CHECK(joined.seconds == std::vector<double>{2, 5});
  CHECK(joined.late_seconds == std::vector<double>{0.1, 0.2});
  CHECK(joined.first_wrong.empty());
  b.wrong_elements = 3;
  b.first_wrong = "rank 1: element 2";
  CHECK(joined_lanes({a, b}).wrong_elements == 3);
  CHECK(joined_lanes({a, b}).first_wrong.text() == "rank 1: element 2");
}
