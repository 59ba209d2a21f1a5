#include "bench/cpu/lu.h"

#include <cmath>

#include <doctest/doctest.h>

#include "bench/cpu/lu_panel.h"
#include "tests/unit/plain_loops.h"

namespace cb {

TEST_CASE("a panel is factored with the largest element of each column as pivot") {
  // Columns (2 4 8), (1 3 7), (1 3 9): the textbook's matrix.
  std::vector<double> a{2, 4, 8, 1, 3, 7, 1, 3, 9};
  std::vector<int64_t> pivots(3);
  REQUIRE(factor_panel({a.data(), 3, 3, 3}, plain_loops(), pivots.data()));
  CHECK(pivots == std::vector<int64_t>{2, 2, 2});
  // U: 8 7 9; -3/4 -5/4; -2/3. L: 1/4 1/2, 2/3.
  const std::vector<double> expected{8, 0.25, 0.5, 7, -0.75, 2.0 / 3, 9, -1.25, -2.0 / 3};
  for (size_t i = 0; i < 9; ++i) CHECK(a[i] == doctest::Approx(expected[i]));
}

TEST_CASE("a panel without a pivot is told") {
  std::vector<double> zero{0, 0, 1, 2};
  std::vector<double> nan{1, std::nan(""), 1, 2};
  std::vector<int64_t> pivots(2);
  CHECK_FALSE(factor_panel({zero.data(), 2, 2, 2}, plain_loops(), pivots.data()));
  CHECK_FALSE(factor_panel({nan.data(), 2, 2, 2}, plain_loops(), pivots.data()));
}

TEST_CASE("the solution is right for any block and number of threads, and the same bits twice") {
  for (const int64_t order : {1, 2, 7, 64, 130}) {
    for (const int64_t block : {8, 32, 200}) {
      for (const int threads : {1, 3}) {
        CAPTURE(order);
        CAPTURE(block);
        Team team(std::vector<int>(static_cast<size_t>(threads), 0));
        LinearSystem system(order, 7, team);
        int moved = 0;
        const auto x = system.solve(block, plain_loops(), team, [&] { ++moved; });
        CHECK(moved == (order + block - 1) / block);
        CHECK(system.residual(x, team) < 16);
        system.fill(team);
        CHECK(system.solve(block, plain_loops(), team, [] {}) == x);
      }
    }
  }
}

TEST_CASE("the residual tells a wrong solution") {
  Team team({0});
  LinearSystem system(100, 7, team);
  auto x = system.solve(16, plain_loops(), team, [] {});
  CHECK(system.residual(x, team) < 1);
  const double right = x[50];
  x[50] *= 1 + 1e-9;
  CHECK(system.residual(x, team) > 16);
  x[50] = std::nan("");
  CHECK(std::isnan(system.residual(x, team)));
  x[50] = right;
  x[0] = 0;
  CHECK(system.residual(x, team) > 1e6);
}

TEST_CASE("the residual is the formula's value") {
  // Order 1: a·x − b with x = 0 leaves |b| / (ε·|b|·1) = 2⁵³.
  Team team({0});
  const LinearSystem system(1, 7, team);
  CHECK(system.residual({0.0}, team) == 0x1p53);
}

TEST_CASE("tiles cover each column once, wide ones first") {
  for (const size_t end : {10u, 11u, 140u, 5000u, 20001u}) {
    size_t next = 10;
    size_t before = 1 << 20;
    const auto tiles = lu_tiles(10, end, 2);
    for (size_t i = 0; i < tiles.size(); ++i) {
      CHECK(tiles[i].begin == next);
      CHECK(tiles[i].size() <= before);
      CHECK(tiles[i].size() <= 1024);
      if (i + 1 < tiles.size()) CHECK(tiles[i].size() >= 128);
      next = tiles[i].end;
      before = tiles[i].size();
    }
    CHECK(next == end);
  }
}

TEST_CASE("memory and block of an order") {
  CHECK(lu_bytes(20000) == doctest::Approx(3.28e9).epsilon(0.01));
  CHECK(lu_block(1999) == 64);
  CHECK(lu_block(2000) == 128);
  CHECK(lu_block(8000) == 256);
}

}  // namespace cb
