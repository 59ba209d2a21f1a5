#include "core/srun_plugin.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("srun's plugin is the one that its words name last") {
  CHECK(srun_plugin({"-v", "--mpi=pmi2"}) == "pmi2");
  CHECK(srun_plugin({"--mpi", "pmix_v4", "-v"}) == "pmix_v4");
  CHECK(srun_plugin({"--mpi=pmi2", "--mpi", "cray_shasta"}) == "cray_shasta");
  CHECK(srun_plugin({"--mpi", "pmix", "--mpi=pmi2"}) == "pmi2");
  CHECK(srun_plugin({"--mpirun=x", "-v", "--mpi"}).empty());
  CHECK(srun_plugin({}).empty());
}

TEST_CASE("srun's other words stay in their order") {
  CHECK(without_srun_plugin({"-v", "--mpi=pmi2", "--mpi", "pmix", "--exclusive"}) ==
        Words{"-v", "--exclusive"});
  CHECK(without_srun_plugin({"--mpirun=x", "--mpi"}) == Words{"--mpirun=x"});
}
