#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

// Where the MPI library of a job is looked for.
namespace cb::mpi {

// The variable that names the library's file; then no other is tried.
inline constexpr const char* kLibraryVariable = "CLUSTERBENCH_MPI_LIBRARY";

// What is known about how this process came to be.
struct Surroundings {
  std::function<std::optional<std::string>(const char*)> variable;
  std::vector<std::string> ancestors;  // files that the processes above this one run, nearest first
  std::function<bool(const std::string&)> readable;
};

// Of this process. An ancestor whose file may not be read is given by its bare name.
Surroundings own_surroundings();

enum class LauncherKind { unknown, open_mpi, mpich, slurm };

// The nearest process above that starts ranks; MPICH's kind is also Intel MPI's.
struct LauncherAbove {
  LauncherKind kind = LauncherKind::unknown;
  std::string file = {};  // empty if there is none
};
LauncherAbove launcher_above(const Surroundings& around);

// Files, and names for the loader, the likeliest first. Where libraries of the launcher's kind lie
// beside it, these are all: another one would not speak to it. Else libraries of that kind from
// where variables point, from the loader, and from where distributions put them; then those of
// other kinds in the same order.
std::vector<std::string> library_candidates(const Surroundings& around);

}  // namespace cb::mpi
