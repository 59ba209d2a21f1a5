// LU on a stand-in GPU, with the real kernels, beside LU on the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "bench/gpu/cuda/lu_unit.h"
#include "sys/cpu/affinity.h"
#include "tests/fake_cuda/devices.h"
#include "tests/unit/plain_loops.h"

using namespace cb;

namespace {

cublaslt::Library opened_library() {
  const auto opened = cublaslt::open();
  if (const auto* absent = std::get_if<cublaslt::Absent>(&opened))
    FAIL("the stand-in cuBLASLt was not opened: " << absent->reason.in(Lang::en));
  return std::get<cublaslt::Library>(opened);
}

double solve(LuUnit& unit) {
  unit.fill();
  unit.start();
  for (int64_t step = 0; step < unit.steps(); ++step) unit.step();
  return unit.finish();
}

}  // namespace

TEST_CASE("a GPU solves the host's system, of any order and block, with the same bits twice") {
  const cublaslt::Library library = opened_library();
  const GpuUnit gpu{.device = {.ordinal = 0}};
  Team team({allowed_cpus().at(0)});
  for (const int64_t order : {1, 2, 7, 64, 65, 200}) {
    for (const int64_t block : {8, 40, 300}) {
      CAPTURE(order);
      CAPTURE(block);
      LuUnit unit(library, gpu, order, block, 7, 60);
      CHECK(solve(unit) > 0);
      const std::vector<double> x = unit.solution();
      CHECK(unit.residual(false) < 1);
      LinearSystem host(order, 7, team);
      // The host makes the elements by itself: the same system is solved.
      CHECK(host.residual(x, team) < 1);
      const std::vector<double> of_host = host.solve(block, plain_loops(), team, [] {});
      double most = 0, size = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        most = std::max(most, std::abs(x[i] - of_host[i]));
        size = std::max(size, std::abs(of_host[i]));
      }
      CHECK(most < 1e-10 * size);
      solve(unit);
      CHECK(unit.solution() == x);
      CHECK_FALSE(unit.residual(true) < 16);
    }
  }
}

TEST_CASE("panels have the stream whose blocks are taken first") {
  LuUnit unit(opened_library(), {.device = {.ordinal = 0}}, 90, 80, 7, 60);
  unit.fill();
  unit.start();  // the first panel; no update yet
  size_t panels = 0, updates = 0;
  for (const fake::Stream* stream : fake::streams)
    (stream->priority < 0 ? panels : updates) += stream->queue.size();
  CHECK(panels >= 15);  // five narrow panels, solutions and products between them, and more
  CHECK(updates <= 1);  // where it begins
}

TEST_CASE("measuring products leaves no trace in the next solution") {
  LuUnit unit(opened_library(), {.device = {.ordinal = 0}}, 90, 16, 7, 60);
  solve(unit);
  const std::vector<double> x = unit.solution();
  CHECK(unit.product_rate() > 0);
  solve(unit);
  CHECK(unit.solution() == x);
  LuUnit small(opened_library(), {.device = {.ordinal = 0}}, 9, 16, 7, 60);
  CHECK(small.product_rate() == 0);
}
