// Conjugate gradients on a stand-in GPU, with the real kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "bench/gpu/cuda/cg_unit.h"

using namespace cb;

namespace {

const GpuUnit kGpu{.device = {.ordinal = 0}};

// Iterations to a residual of 1e-9, and how far x then is from 1.
int solve_to(CgUnit& unit, bool preconditioned, double& error) {
  int iterations = 0;
  unit.begin();
  do {
    unit.iterate(preconditioned);
    ++iterations;
  } while (iterations < 200 && !(unit.residual() <= 1e-9));
  CHECK(unit.end() > 0);
  error = 0;
  for (const double x : unit.solution()) error = std::max(error, std::abs(x - 1));
  return iterations;
}

}  // namespace

TEST_CASE("a GPU's solution is 1 everywhere, sooner with the preconditioner, the same bits twice") {
  CgUnit unit(kGpu, 24, 60);  // levels of 24, 12, 6 and 3: the last cube is odd
  double error = 0;
  const int with = solve_to(unit, true, error);
  CHECK(error < 1e-6);
  const double residual = unit.residual();
  CHECK(std::abs(unit.true_residual() - residual) < 1e-12);
  const int without = solve_to(unit, false, error);
  CHECK(error < 1e-6);
  CHECK(3 * with < 2 * without);
  CHECK(solve_to(unit, true, error) == with);
  CHECK(unit.residual() == residual);
  CHECK(unit.true_residual(true) > 1e-4);
}

TEST_CASE("operator and preconditioner of a GPU are symmetric") {
  CgUnit unit(kGpu, 16, 60);
  const auto found = unit.departures(5);
  CHECK(found.product < 10);
  CHECK(found.cycle < 10);
  CHECK(unit.read_rate() > 0);
}

TEST_CASE("the look at the true residual leaves the set as it was") {
  CgUnit unit(kGpu, 16, 60);
  const auto after = [&](bool look) {
    unit.begin();
    for (int i = 0; i < 6; ++i) {
      unit.iterate();
      if (look) unit.true_residual();
    }
    return unit.residual();
  };
  CHECK(after(true) == after(false));
}
