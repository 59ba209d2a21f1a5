#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

// Where the MPI library of a job is searched.
namespace cb::mpi {

// The variable that names the library's file. If it is set, no other file is tried.
inline constexpr const char* kLibraryVariable = "CLUSTERBENCH_MPI_LIBRARY";

// What is known about how this process was started.
struct Surroundings {
  std::function<std::optional<std::string>(const char*)> variable;
  std::vector<std::string> ancestors;  // files that the processes above this one run, nearest first
  std::function<bool(const std::string&)> readable;
  std::string mpirun = {};       // the file behind the one on the PATH; empty if there is none
  bool mpirun_is_hydra = false;  // MPICH's or Intel MPI's (core/hydra.h)
};

// Returns those of this process. If an ancestor's file is not readable, its bare name stands for
// it.
Surroundings own_surroundings();

enum class LauncherKind { unknown, open_mpi, mpich, slurm };

// The nearest process above that starts ranks. Intel MPI and MVAPICH count as MPICH.
struct LauncherAbove {
  LauncherKind kind = LauncherKind::unknown;
  std::string file = {};  // empty if there is none
};
LauncherAbove launcher_above(const Surroundings& around);

// Returns files, and names for the loader, the likeliest first. For a process that no launcher
// has started, the mpirun on the PATH counts: it would start the jobs of this host. If libraries of
// the launcher's kind are beside the launcher, only these: another one could not talk to it.
// Otherwise libraries of that kind, from the prefixes in variables, from the loader, and from the
// distributions' folders; then those of other kinds in the same order.
std::vector<std::string> library_candidates(const Surroundings& around);

}  // namespace cb::mpi
