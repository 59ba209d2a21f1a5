#include "sys/mpi/find.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace cb::mpi {
namespace {

constexpr int kGenerations = 8;  // mpirun or orted, a shell or numactl or two, this process
// Executables that start ranks: Open MPI 4 and 5, PRRTE, MPICH's Hydra, which is Intel's too.
constexpr std::array<std::string_view, 9> kLaunchers{
    "mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte", "hydra", "mpiexec.hydra"};
// Where a library lies, seen from the launcher's prefix.
constexpr std::array<std::string_view, 5> kLibraryFolders{"lib", "lib64", "lib/release",
                                                          "lib64/openmpi/lib", "lib/mpich/lib"};
constexpr std::array<const char*, 4> kPrefixVariables{"OPAL_PREFIX", "MPI_HOME", "I_MPI_ROOT",
                                                      "MPICH_DIR"};
// Distributions that have several MPIs keep them off the loader's path.
constexpr std::array<std::string_view, 6> kKnownFolders{"/usr/lib/x86_64-linux-gnu/openmpi/lib",
                                                        "/usr/lib/aarch64-linux-gnu/openmpi/lib",
                                                        "/usr/lib64/openmpi/lib",
                                                        "/usr/lib64/mpich/lib",
                                                        "/usr/lib64/mpi/gcc/openmpi4/lib64",
                                                        "/opt/hpcx/ompi/lib"};

// Names of Open MPI's library, of MPICH's (Debian renames it), and of the standard's. Intel's of
// the standard's interface ends the job at each error, so its older one is preferred.
std::vector<std::string> library_names(const Surroundings& around) {
  const auto is_set = [&](const char* name) { return around.variable(name).has_value(); };
  const bool mpich = is_set("PMI_RANK") && !is_set("OMPI_COMM_WORLD_SIZE");
  if (mpich) return {"libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1", "libmpi.so.40"};
  return {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"};
}

bool is_launcher(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return std::ranges::any_of(kLaunchers, [&](std::string_view known) {
    return name == known || (name.starts_with(known) && name.find_first_of(".-_") == known.size());
  });
}

// "/opt/mpi" of "/opt/mpi/bin/mpirun"; empty if it lies in no such folder.
std::string prefix_of(const std::string& file) {
  const size_t name = file.rfind('/');
  if (name == std::string::npos || name == 0) return "";
  const size_t folder = file.rfind('/', name - 1);
  return folder == std::string::npos ? "" : file.substr(0, folder);
}

std::vector<std::string> prefixes(const Surroundings& around) {
  std::vector<std::string> out;
  for (const std::string& file : around.ancestors) {
    if (is_launcher(file)) out.push_back(prefix_of(file));
  }
  for (const char* name : kPrefixVariables) {
    if (const auto value = around.variable(name); value && !value->empty()) out.push_back(*value);
  }
  return out;
}

long parent_of(long process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t behind = text.rfind(')');  // the name before it may hold anything
  return behind == std::string::npos || behind + 4 > text.size()
             ? 0
             : std::strtol(text.c_str() + behind + 4, nullptr, 10);
}

}  // namespace

Surroundings own_surroundings() {
  Surroundings out;
  out.variable = [](const char* name) -> std::optional<std::string> {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
  out.readable = [](const std::string& file) { return ::access(file.c_str(), R_OK) == 0; };
  long process = ::getppid();
  for (int i = 0; i < kGenerations && process > 1; ++i, process = parent_of(process)) {
    std::error_code failed;
    const auto file = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), failed);
    if (!failed) out.ancestors.push_back(file.string());
  }
  return out;
}

std::vector<std::string> library_candidates(const Surroundings& around) {
  if (const auto given = around.variable(kLibraryVariable); given && !given->empty())
    return {*given};
  const std::vector<std::string> names = library_names(around);
  std::vector<std::string> out;
  const auto add_readable = [&](const std::string& folder) {
    for (const std::string& name : names) {
      std::string file = folder + "/" + name;
      if (around.readable(file) && std::ranges::find(out, file) == out.end())
        out.push_back(std::move(file));
    }
  };
  for (const std::string& prefix : prefixes(around)) {
    for (const std::string_view folder : kLibraryFolders)
      add_readable(fmt::format("{}/{}", prefix, folder));
  }
  out.insert(out.end(), names.begin(), names.end());
  for (const std::string_view folder : kKnownFolders) add_readable(std::string(folder));
  return out;
}

}  // namespace cb::mpi
