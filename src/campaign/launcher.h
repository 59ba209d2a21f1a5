#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/hosts.h"

namespace cb {

enum class Launcher { none, mpirun, srun };
const char* launcher_name(Launcher launcher);

struct LaunchSetup {
  Launcher launcher = Launcher::none;
  std::vector<std::string> arguments = {};  // the user's own, put before the program
  bool as_root = false;                     // Open MPI refuses root unless told
  bool hydra = false;  // mpirun is MPICH's or Intel MPI's, which takes other options
};

// A command line and what is added to its environment.
struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment = {};
};

// The launcher named, or for "auto": srun inside a Slurm allocation, mpirun if it is in the PATH,
// else none. Throws UsageError for another name or one that is not installed.
Launcher choose_launcher(const std::string& name, const Environment& environment);

// Whether the mpirun in the PATH is Hydra, which MPICH and Intel MPI start ranks with: by its name,
// or by what the file holds. Open MPI's otherwise.
bool mpirun_is_hydra(const Environment& environment);

// The user's own arguments of that launcher: CLUSTERBENCH_MPIRUN_ARGS or CLUSTERBENCH_SRUN_ARGS,
// split at blanks.
std::vector<std::string> launcher_arguments(Launcher launcher, const Environment& environment);

// Why these arguments are refused: one of them is no text of a line, or sets a variable that
// decides which programs run (core/env_names.h).
std::optional<std::string> bad_launcher_arguments(const std::vector<std::string>& arguments);

// Why the launcher cannot start that many ranks there (0: as many as each host has slots), with the
// next step; nothing if it can.
std::optional<Said> cannot_launch(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                                  int ranks_per_host);

// The command that starts `program` on these hosts.
Command launch_command(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                       int ranks_per_host, const std::map<std::string, std::string>& environment,
                       const std::vector<std::string>& program);

// As one would type it in a POSIX shell.
std::string shell_text(const Command& command);

}  // namespace cb
