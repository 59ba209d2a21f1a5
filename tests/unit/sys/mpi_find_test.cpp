// Which MPI library a job gets: that of its launcher.
#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "sys/mpi/find.h"
#include "sys/mpi/launched.h"

using namespace cb::mpi;

namespace {

struct Launching {
  std::map<std::string, std::string> variables;
  std::vector<std::string> ancestors;
  std::set<std::string> files;
  std::string mpirun = {};
  bool mpirun_is_hydra = false;

  std::vector<std::string> candidates() const { return library_candidates(around()); }
  Surroundings around() const {
    return {.variable = [this](const char* name) -> std::optional<std::string> {
              const auto found = variables.find(name);
              return found == variables.end() ? std::nullopt : std::optional(found->second);
            },
            .ancestors = ancestors,
            .readable = [this](const std::string& file) { return files.contains(file); },
            .mpirun = mpirun,
            .mpirun_is_hydra = mpirun_is_hydra};
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

TEST_CASE("MVAPICH's own launchers, and Cray's library for programs built for MPICH") {
  for (const char* launcher : {"mpispawn", "mpirun_rsh"}) {
    const Launching m{.variables = {{"PMI_ID", "0"}},
                      .ancestors = {std::string("/opt/mvapich2/bin/") + launcher},
                      .files = {"/opt/mvapich2/lib/libmpi.so.12"}};
    CHECK_MESSAGE(m.first() == "/opt/mvapich2/lib/libmpi.so.12", launcher);
  }
  const Launching cray{.variables = {{"PMI_RANK", "0"}, {"CRAY_MPICH_DIR", "/opt/cray/mpich"}},
                       .ancestors = {"slurmstepd"},
                       .files = {"/opt/cray/mpich/lib-abi-mpich/libmpi.so.12"}};
  CHECK(cray.first() == "/opt/cray/mpich/lib-abi-mpich/libmpi.so.12");
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
  CHECK(all.at(1) == "libmpi.so.40");
  CHECK(all.at(2) == fedora);
  CHECK(std::ranges::count(all, "libmpi.so.40") == 1);
}

TEST_CASE("the nearest launcher's own library is the only one, whatever variables name another") {
  const std::string debian = "/usr/lib/x86_64-linux-gnu/libmpi.so.40";
  for (const char* variable : {"I_MPI_ROOT", "MPI_HOME"}) {
    const Launching m{.variables = {{"OMPI_COMM_WORLD_SIZE", "2"}, {variable, "/opt/other"}},
                      .ancestors = {"/usr/bin/orterun", "/usr/bin/bash"},
                      .files = {"/opt/other/lib/libmpi.so.12", "/opt/other/lib/libmpi_abi.so.1",
                                debian, "/usr/lib/x86_64-linux-gnu/libmpich.so.12"}};
    CHECK(m.candidates() == std::vector<std::string>{debian});
  }
}

TEST_CASE("without a library beside the launcher those of its kind come first from everywhere") {
  const Launching m{.variables = {{"OMPI_COMM_WORLD_SIZE", "2"}, {"I_MPI_ROOT", "/opt/intel"}},
                    .ancestors = {"/opt/ompi/bin/orted"},
                    .files = {"/opt/intel/lib/libmpi.so.12"}};
  const auto all = m.candidates();
  CHECK(all.front() == "libmpi.so.40");
  CHECK(std::ranges::find(all, "/opt/intel/lib/libmpi.so.12") != all.end());
}

TEST_CASE("variables left over from an outer launcher do not choose the library") {
  const Launching m{.variables = {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_RANK", "0"}},
                    .ancestors = {"/usr/bin/hydra_pmi_proxy", "/usr/bin/mpiexec.hydra",
                                  "/usr/bin/bash", "/usr/bin/orterun"},
                    .files = {"/usr/lib/x86_64-linux-gnu/libmpi.so.40",
                              "/usr/lib/x86_64-linux-gnu/libmpich.so.12"}};
  CHECK(m.candidates() == std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/libmpich.so.12"});
}

TEST_CASE("the mpirun on the PATH counts for a process that nobody has started, and for no other") {
  const std::string open_mpi = "/opt/ompi/lib/libmpi.so.40", intel = "/opt/intel/lib/libmpi.so.12";
  Launching m{.files = {open_mpi, intel}, .mpirun = "/opt/ompi/bin/orterun"};
  CHECK(m.candidates() == std::vector<std::string>{open_mpi});
  m.variables = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};  // of a launcher that is not visible here
  CHECK(m.first() == "libmpi.so.12");

  Launching script{.files = {open_mpi, intel, "/opt/intel/lib/libmpi_abi.so.1"},
                   .mpirun = "/opt/intel/bin/mpirun",
                   .mpirun_is_hydra = true};
  CHECK(script.first() == intel);
  script.variables = {{"OMPI_COMM_WORLD_SIZE", "2"}};
  CHECK(script.first() == "libmpi.so.40");
}

namespace {

Launched told(std::map<std::string, std::string> variables,
              std::vector<std::string> ancestors = {}) {
  return launched_by(
      Launching{.variables = std::move(variables), .ancestors = std::move(ancestors)}.around());
}

}  // namespace

TEST_CASE("rank and size are those of the nearest launcher") {
  const Launched hydra = told({{"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_RANK", "1"},
                               {"PMI_RANK", "3"},
                               {"PMI_SIZE", "4"}},
                              {"/usr/bin/hydra_pmi_proxy", "/usr/bin/orterun"});
  CHECK(hydra.joins);
  CHECK(hydra.rank.number == 3);
  CHECK(hydra.processes.number == 4);
  const Launched mvapich =
      told({{"PMI_ID", "2"}, {"PMI_PORT", "a:1"}, {"MV2_COMM_WORLD_SIZE", "3"}}, {"mpispawn"});
  CHECK(mvapich.joins);
  CHECK(mvapich.rank.number == 2);
  CHECK(mvapich.processes.number == 3);
  for (const char* size : {"MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE", "MPIRUN_NPROCS"})
    CHECK_FALSE_MESSAGE(left_alone(told({{"PMI_ID", "0"}, {size, "1"}}, {"mpispawn"})), size);
  // A hydra of one process that a rank of mpirun_rsh started: what that left does not count.
  CHECK_FALSE(left_alone(told({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MV2_COMM_WORLD_SIZE", "8"}},
                              {"hydra_pmi_proxy"})));
  const Launched slurm = told({{"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_RANK", "1"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_STEP_NUM_TASKS", "1"}},
                              {"slurmstepd"});
  CHECK_FALSE(slurm.joins);
  CHECK(slurm.rank.number == 0);
  CHECK_FALSE(left_alone(slurm));
}

TEST_CASE("the launcher is named as the nearest one is, also within an allocation of Slurm") {
  const auto name = [](std::map<std::string, std::string> variables, const std::string& above) {
    variables["SLURM_JOB_ID"] = "7";
    return launcher_name_of(
        Launching{.variables = std::move(variables), .ancestors = {above}}.around());
  };
  CHECK(name({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "/usr/bin/hydra_pmi_proxy") == "mpirun");
  CHECK(name({{"OMPI_COMM_WORLD_SIZE", "2"}}, "/usr/bin/orted") == "mpirun");
  CHECK(name({{"PMIX_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, "slurmstepd") == "srun");
  CHECK(name({{"PMIX_RANK", "0"}}, "/usr/bin/bash") == "srun");
  CHECK(name({{"OMPI_COMM_WORLD_SIZE", "2"}}, "/usr/bin/bash") == "mpirun");
  CHECK(name({}, "/usr/bin/bash") == "none");
}

TEST_CASE("Slurm's own daemon has no library beside it") {
  const Launching m{
      .variables = {{"PMIX_RANK", "0"}, {"OPAL_PREFIX", "/opt/ompi"}},
      .ancestors = {"/usr/sbin/slurmstepd"},
      .files = {"/usr/lib/x86_64-linux-gnu/libmpi.so.40", "/opt/ompi/lib/libmpi.so.40"}};
  CHECK(m.candidates().front() == "/opt/ompi/lib/libmpi.so.40");
}

TEST_CASE("a process that may be one of several is not left to measure alone") {
  CHECK(left_alone(told({{"PMIX_RANK", "2"}})));
  CHECK(left_alone(told({{"PMIX_RANK", "0"}})));  // of how many, nothing says
  CHECK(left_alone(told({{"PMI_RANK", "1"}, {"PMI_SIZE", "1"}})));
  CHECK(left_alone(told({{"PMIX_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}})));
  CHECK(left_alone(told({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}})));
  CHECK_FALSE(left_alone(told({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}})));
  CHECK_FALSE(left_alone(told({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})));
  CHECK_FALSE(left_alone(told({{"SLURM_PROCID", "5"}})));
  CHECK_FALSE(left_alone(told({})));
}

TEST_CASE("the processes above this one are found") {
  const Surroundings own = own_surroundings();
  CHECK_FALSE(own.ancestors.empty());
  CHECK(own.readable("/proc/self/stat"));
  CHECK_FALSE(own.readable("/proc/self/no-such-file"));
  CHECK_FALSE(own.variable("CB_TEST_NO_SUCH_VARIABLE").has_value());
}
