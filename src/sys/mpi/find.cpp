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

#include "core/hydra.h"
#include "core/path_search.h"
#include "sys/mpi/launched.h"

namespace cb::mpi {
namespace {

constexpr int kGenerations = 8;  // mpirun or orted, one or two shells or numactl, this process
// The folders below the launcher's prefix in which a library may be.
// Cray keeps its MPI for programs that were built for MPICH in a folder of its own.
constexpr std::array<std::string_view, 8> kLibraryFolders{"lib",
                                                          "lib64",
                                                          "lib-abi-mpich",
                                                          "lib/release",
                                                          "lib64/openmpi/lib",
                                                          "lib/mpich/lib",
                                                          "lib/x86_64-linux-gnu",
                                                          "lib/aarch64-linux-gnu"};
constexpr std::array<const char*, 5> kPrefixVariables{"OPAL_PREFIX", "MPI_HOME", "I_MPI_ROOT",
                                                      "MPICH_DIR", "CRAY_MPICH_DIR"};
// Distributions with several MPIs keep them out of the loader's path.
constexpr std::array<std::string_view, 6> kKnownFolders{"/usr/lib/x86_64-linux-gnu/openmpi/lib",
                                                        "/usr/lib/aarch64-linux-gnu/openmpi/lib",
                                                        "/usr/lib64/openmpi/lib",
                                                        "/usr/lib64/mpich/lib",
                                                        "/usr/lib64/mpi/gcc/openmpi4/lib64",
                                                        "/opt/hpcx/ompi/lib"};

// Executables that start ranks: those of Open MPI 4 and 5, PRRTE, Slurm, MPICH's Hydra, which Intel
// uses too, and MVAPICH's own.
struct KnownLauncher {
  std::string_view name;
  LauncherKind kind;
};
constexpr std::array<KnownLauncher, 11> kLaunchers{{{"hydra", LauncherKind::mpich},
                                                    {"mpispawn", LauncherKind::mpich},
                                                    {"mpirun_rsh", LauncherKind::mpich},
                                                    {"orterun", LauncherKind::open_mpi},
                                                    {"orted", LauncherKind::open_mpi},
                                                    {"prterun", LauncherKind::open_mpi},
                                                    {"prted", LauncherKind::open_mpi},
                                                    {"prte", LauncherKind::open_mpi},
                                                    {"slurmstepd", LauncherKind::slurm},
                                                    {"mpirun", LauncherKind::open_mpi},
                                                    {"mpiexec", LauncherKind::open_mpi}}};

// Returns the kind of a launcher's file, also of "mpiexec.hydra". Nothing if the file starts no
// ranks.
std::optional<LauncherKind> kind_of(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  for (const KnownLauncher& known : kLaunchers) {
    if (name != known.name &&
        !(name.starts_with(known.name) && name.find_first_of(".-_") == known.name.size()))
      continue;
    const bool hydra = name.ends_with(".hydra") || name.ends_with(".mpich");
    return hydra ? LauncherKind::mpich : known.kind;
  }
  return std::nullopt;
}

bool is_started(const Surroundings& around) {
  const Launched told = launched_by(around);
  return told.joins || !told.rank.variable.empty() || !told.processes.variable.empty();
}

// The launcher above. A process that none has started has the one that would start a job here.
LauncherAbove likely_launcher(const Surroundings& around) {
  const LauncherAbove above = launcher_above(around);
  if (!above.file.empty() || is_started(around)) return above;
  if (around.mpirun_is_hydra) return {LauncherKind::mpich, around.mpirun};
  const auto kind = kind_of(around.mpirun);
  return kind ? LauncherAbove{*kind, around.mpirun} : above;
}

// Guesses the kind if no known launcher is visible among the processes above.
LauncherKind kind_by_variables(const Surroundings& around) {
  const auto is_set = [&](const char* name) { return around.variable(name).has_value(); };
  const bool mpich = is_set("PMI_RANK") && !is_set("OMPI_COMM_WORLD_SIZE");
  return mpich ? LauncherKind::mpich : LauncherKind::open_mpi;
}

using Names = std::vector<std::string>;

// Names of Open MPI's library, of MPICH's (Debian renames it), and of the standard's. Intel's
// library with the standard's interface ends the job at each error, so its older one is preferred.
struct LibraryNames {
  Names own, standard, others;
};

LibraryNames library_names(const Surroundings& around) {
  const Names open_mpi{"libmpi.so.40"}, mpich{"libmpi.so.12", "libmpich.so.12"};
  const Names standard{"libmpi_abi.so.1"};
  LauncherKind kind = likely_launcher(around).kind;
  if (kind == LauncherKind::unknown || kind == LauncherKind::slurm)
    kind = kind_by_variables(around);
  if (kind == LauncherKind::mpich) return {mpich, standard, open_mpi};
  return {open_mpi, standard, mpich};
}

// Returns "/opt/mpi" for "/opt/mpi/bin/mpirun"; "" if the file is in no such folder.
std::string prefix_of(const std::string& file) {
  const size_t name = file.rfind('/');
  if (name == std::string::npos || name == 0) return "";
  const size_t folder = file.rfind('/', name - 1);
  return folder == std::string::npos ? "" : file.substr(0, folder);
}

Names prefixes_of_variables(const Surroundings& around) {
  Names out;
  for (const char* name : kPrefixVariables) {
    if (const auto value = around.variable(name); value && !value->empty()) out.push_back(*value);
  }
  return out;
}

// A list of files and names without duplicates.
class Candidates {
 public:
  explicit Candidates(const Surroundings& around) : around_(around) {}

  void add(const std::string& file) {
    if (std::ranges::find(list_, file) == list_.end()) list_.push_back(file);
  }
  void add_in(const std::string& folder, const Names& names) {
    for (const std::string& name : names) {
      if (around_.readable(folder + "/" + name)) add(folder + "/" + name);
    }
  }
  void add_below(const std::string& prefix, const Names& names) {
    if (prefix.empty()) return;
    for (const std::string_view folder : kLibraryFolders)
      add_in(fmt::format("{}/{}", prefix, folder), names);
  }
  // Adds files from everywhere except beside the launcher.
  void add_elsewhere(const Names& names) {
    for (const std::string& prefix : prefixes_of_variables(around_)) add_below(prefix, names);
    for (const std::string& name : names) add(name);
    for (const std::string_view folder : kKnownFolders) add_in(std::string(folder), names);
  }
  const Names& list() const { return list_; }

 private:
  const Surroundings& around_;
  Names list_;
};

long parent_of(long process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t behind = text.rfind(')');  // the name in front of it may contain anything
  return behind == std::string::npos || behind + 4 > text.size()
             ? 0
             : std::strtol(text.c_str() + behind + 4, nullptr, 10);
}

// Works also if the process is another user's, such as Slurm's, whose file cannot be read.
std::string bare_name(long process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string out;
  std::getline(file, out);
  return out;
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
    out.ancestors.push_back(failed ? bare_name(process) : file.string());
  }
  std::error_code none;
  const std::string mpirun = file_in_path("mpirun");
  out.mpirun = std::filesystem::canonical(mpirun, none).string();
  out.mpirun_is_hydra = is_hydra(mpirun, out.variable("PATH").value_or(kPlainPath));
  return out;
}

LauncherAbove launcher_above(const Surroundings& around) {
  for (const std::string& file : around.ancestors) {
    if (const auto kind = kind_of(file)) return {*kind, file};
  }
  return {};
}

std::vector<std::string> library_candidates(const Surroundings& around) {
  if (const auto given = around.variable(kLibraryVariable); given && !given->empty())
    return {*given};
  const LibraryNames names = library_names(around);
  const LauncherAbove above = likely_launcher(around);
  // Slurm's daemon belongs to no MPI: a library in its prefix is no better than any other.
  const std::string launcher = above.kind == LauncherKind::slurm ? "" : prefix_of(above.file);
  Candidates out(around);
  for (const Names* kind : {&names.own, &names.standard}) out.add_below(launcher, *kind);
  if (!out.list().empty()) return out.list();
  for (const Names* kind : {&names.own, &names.standard}) out.add_elsewhere(*kind);
  out.add_below(launcher, names.others);
  out.add_elsewhere(names.others);
  return out.list();
}

}  // namespace cb::mpi
