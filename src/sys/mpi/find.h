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

// Of this process. Ancestors whose file may not be read are left out.
Surroundings own_surroundings();

// Files, and names for the loader, the likeliest first: the launcher's own library, then what
// variables point at, then what the loader finds, then where distributions put them. Libraries of
// the launcher's kind stand before others everywhere.
std::vector<std::string> library_candidates(const Surroundings& around);

}  // namespace cb::mpi
