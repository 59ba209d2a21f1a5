#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/hosts.h"

namespace cb {

enum class Launcher { none, mpirun, srun };
const char* launcher_name(Launcher launcher);
// What --launcher takes: "auto" and the names of all.
std::vector<std::string> launcher_names();

struct LaunchSetup {
  Launcher launcher = Launcher::none;
  std::vector<std::string> arguments = {};  // the user's own, put before the program
  bool as_root = false;                     // Open MPI refuses to run as root unless told
  bool hydra = false;  // mpirun is MPICH's or Intel MPI's, which takes other options
};

// A command line, and variables added to its environment.
struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment = {};
  bool by_open_mpi = false;  // argv starts Open MPI's mpirun
};

// The named launcher. For "auto": srun inside a Slurm allocation, else mpirun if it is in the PATH,
// else none. Throws UsageError for another name, or for a launcher that is not installed.
Launcher choose_launcher(const std::string& name, const Environment& environment);

// True if the mpirun in the PATH is Hydra, the launcher of MPICH and Intel MPI, judged by the
// file's name or content. Else it is taken for Open MPI's.
bool mpirun_is_hydra(const Environment& environment);

// How many bytes of standard input the launcher brings to a rank at a time without losing any: 0
// for any number. mpirun of Open MPI 5 loses what it reads while it sends, Hydra ends where the
// rank reads too slowly. An mpirun that is not known gets pieces that suit both.
size_t input_piece(const LaunchSetup& setup, const Environment& environment);

// The user's own arguments for that launcher: CLUSTERBENCH_MPIRUN_ARGS or CLUSTERBENCH_SRUN_ARGS,
// split at blanks. Throws UsageError if they hold a secret.
std::vector<std::string> launcher_arguments(Launcher launcher, const Environment& environment);

// The reason why these arguments are refused: one is empty or has unprintable characters, or sets a
// variable that decides which programs run (core/env_names.h). Nothing if they are fine.
std::optional<std::string> bad_launcher_arguments(const std::vector<std::string>& arguments);

// The reason why the launcher cannot start `ranks_per_host` ranks on each host (0: one per slot).
// Nothing if it can.
std::optional<Said> cannot_launch(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                                  int ranks_per_host);

// The command that starts `program` on these hosts.
Command launch_command(const LaunchSetup& setup, const std::vector<HostSlots>& hosts,
                       int ranks_per_host, const std::map<std::string, std::string>& environment,
                       const std::vector<std::string>& program);

// The command as typed in a POSIX shell.
std::string shell_text(const Command& command);

}  // namespace cb
