// Which MPI library a job gets: that of its launcher.
#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "sys/mpi/find.h"

using namespace cb::mpi;

namespace {

struct Launching {
  std::map<std::string, std::string> variables;
  std::vector<std::string> ancestors;
  std::set<std::string> files;

  std::vector<std::string> candidates() const {
    return library_candidates(
        {.variable = [this](const char* name) -> std::optional<std::string> {
           const auto found = variables.find(name);
           return found == variables.end() ? std::nullopt : std::optional(found->second);
         },
         .ancestors = ancestors,
         .readable = [this](const std::string& file) { return files.contains(file); }});
  }
  std::string first() const { return candidates().front(); }
};

}  // namespace

TEST_CASE("the variable names the only library that is tried") {
  Launching m{.variables = {{"CLUSTERBENCH_MPI_LIBRARY", "/opt/x/libmpi.so"}, {"PMI_RANK", "0"}},
              .ancestors = {"/opt/mpich/bin/mpiexec.hydra"},
              .files = {"/opt/mpich/lib/libmpi.so.12"}};
  CHECK(m.candidates() == std::vector<std::string>{"/opt/x/libmpi.so"});
  m.variables["CLUSTERBENCH_MPI_LIBRARY"] = "";
  CHECK(m.first() == "/opt/mpich/lib/libmpi.so.12");
}

TEST_CASE("the launcher's own library comes first, off the loader's path too") {
  const std::string file = "/opt/ompi/lib/libmpi.so.40";
  for (const char* launcher :
       {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte"}) {
    Launching m{.variables = {{"OMPI_COMM_WORLD_SIZE", "2"}},
                .ancestors = {"/usr/bin/bash", std::string("/opt/ompi/bin/") + launcher},
                .files = {file}};
    CHECK_MESSAGE(m.first() == file, launcher);
  }
  for (const char* launcher : {"hydra_pmi_proxy", "hydra_bstrap_proxy", "mpiexec.hydra"}) {
    Launching m{.variables = {{"PMI_RANK", "0"}},
                .ancestors = {std::string("/opt/intel/bin/") + launcher},
                .files = {"/opt/intel/lib/release/libmpi.so.12"}};
    CHECK_MESSAGE(m.first() == "/opt/intel/lib/release/libmpi.so.12", launcher);
  }
  const Launching other{.variables = {{"OMPI_COMM_WORLD_SIZE", "2"}},
                        .ancestors = {"/opt/ompi/bin/mpirunner", "/opt/ompi/bin/sshd"},
                        .files = {file}};
  CHECK(other.first() == "libmpi.so.40");
}

TEST_CASE("the kind of launcher decides which name is tried first") {
  CHECK(Launching{.variables = {{"OMPI_COMM_WORLD_SIZE", "2"}}}.first() == "libmpi.so.40");
  CHECK(Launching{.variables = {{"PMIX_RANK", "0"}}}.first() == "libmpi.so.40");
  CHECK(Launching{.variables = {{"PMI_RANK", "0"}}}.first() == "libmpi.so.12");
  CHECK(Launching{.variables = {{"PMI_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}}.first() ==
        "libmpi.so.40");
  const auto debian = Launching{.variables = {{"PMI_RANK", "0"}}}.candidates();
  CHECK(std::ranges::find(debian, "libmpich.so.12") < std::ranges::find(debian, "libmpi.so.40"));
}

TEST_CASE("variables of an installation, then the loader, then where distributions keep it") {
  const std::string fedora = "/usr/lib64/openmpi/lib/libmpi.so.40";
  Launching m{.variables = {{"MPI_HOME", "/site/mpi"}},
              .files = {"/site/mpi/lib64/libmpi.so.40", fedora}};
  const auto all = m.candidates();
  CHECK(all.front() == "/site/mpi/lib64/libmpi.so.40");
  CHECK(all.back() == fedora);
  CHECK(std::ranges::count(all, "libmpi.so.40") == 1);
}

TEST_CASE("the processes above this one are found") {
  const Surroundings own = own_surroundings();
  CHECK_FALSE(own.ancestors.empty());
  CHECK(own.readable("/proc/self/stat"));
  CHECK_FALSE(own.readable("/proc/self/no-such-file"));
  CHECK_FALSE(own.variable("CB_TEST_NO_SUCH_VARIABLE").has_value());
}
