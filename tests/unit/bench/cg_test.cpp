#include "bench/cpu/cg.h"

#include <cmath>

#include <doctest/doctest.h>

namespace cb {
namespace {

std::vector<int> cpus_for(int threads) { return std::vector<int>(static_cast<size_t>(threads), 0); }

double departure_of(CgProblem& p, CubeVector& x, CubeVector& y, CubeVector& mx, CubeVector& my) {
  return std::abs(p.dot(x, my) - p.dot(y, mx)) /
         (std::sqrt(p.dot(x, x) * p.dot(my, my)) + std::sqrt(p.dot(y, y) * p.dot(mx, mx)));
}

}  // namespace

TEST_CASE("a cube is divided by planes of the coarsest level") {
  CHECK(cg_divides(16, 2));
  CHECK_FALSE(cg_divides(16, 3));
  CHECK_FALSE(cg_divides(20, 1));
  CHECK_FALSE(cg_divides(8, 1));
  Team team(cpus_for(3));
  CHECK_THROWS_AS(CgProblem(16, team), Error);
}

TEST_CASE("rows have 27 points inside, 18 on a face, 12 on an edge, 8 in a corner") {
  Team team(cpus_for(2));
  CgProblem problem(16, team);
  // The right-hand side is the sum of a row: 26 less the number of neighbours.
  const CubeVector& b = problem.right_side();
  const auto at_point = [&](int z, int y, int x) {
    const int half = z / 8;  // thread
    return b[static_cast<size_t>(half)]
            [static_cast<size_t>(((z - 8 * half) + 1) * 256 + y * 16 + x)];
  };
  CHECK(at_point(5, 5, 5) == 0);
  CHECK(at_point(0, 5, 5) == 9);
  CHECK(at_point(0, 0, 5) == 15);
  CHECK(at_point(0, 0, 0) == 19);
  CHECK(at_point(15, 15, 15) == 19);
  // Across the border of two threads.
  CHECK(at_point(7, 5, 5) == 0);
  CHECK(at_point(8, 5, 5) == 0);
}

TEST_CASE("operator and preconditioner are symmetric for any number of threads") {
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    Team team(cpus_for(threads));
    CgProblem p(24, team);
    CubeVector x = p.vector(), y = p.vector(), mx = p.vector(), my = p.vector();
    p.fill_random(x, 1);
    p.fill_random(y, 2);
    p.multiply(x, mx);
    p.multiply(y, my);
    CHECK(departure_of(p, x, y, mx, my) < 1e-14);
    p.precondition(x, mx);
    p.precondition(y, my);
    CHECK(departure_of(p, x, y, mx, my) < 1e-14);
  }
}

TEST_CASE("the solution is 1 everywhere, sooner with the preconditioner") {
  for (const int threads : {1, 2}) {
    Team team(cpus_for(threads));
    CgProblem p(32, team);
    int moved = 0;
    const auto with = p.solve(500, 1e-9, true, [&] { ++moved; });
    const auto without = p.solve(500, 1e-9, false, [] {});
    CHECK(moved == with.iterations);
    CHECK(with.residual <= 1e-9);
    CHECK(with.error < 1e-6);
    CHECK(without.error < 1e-6);
    CHECK(2 * with.iterations < without.iterations);
    CHECK(std::abs(with.residual - with.true_residual) < 1e-12);
    // The same bits again.
    CHECK(p.solve(500, 1e-9, true, [] {}).residual == with.residual);
  }
}

TEST_CASE("a changed element of the solution shows in its residual") {
  Team team(cpus_for(1));
  CgProblem p(16, team);
  const auto spoilt = p.solve(
      50, 0, true, [] {}, true);
  CHECK(spoilt.true_residual > 1e-3);
  CHECK(spoilt.residual < 1e-9);
  CHECK(spoilt.error > 0.99);
}

}  // namespace cb
