#pragma once

#include <map>
#include <string>
#include <vector>

// The command that starts the processes of an official program. The job itself has one waiting rank
// a host; rank 0 starts the program's own processes by the launcher on these hosts.
namespace cb {

enum class Starter { none, open_mpi, hydra, srun };

// The kind of mpirun, by what "mpirun --version" says.
Starter mpirun_kind(const std::string& version_text);

struct StartRequest {
  Starter starter = Starter::none;
  std::vector<std::string> hosts;           // of the job
  int64_t per_host = 1;                     // processes of the program
  std::vector<std::string> arguments = {};  // the user's own, in place of ours about binding
  std::vector<std::string> program = {};
  std::string plugin = "pmix";  // of srun; the user's own arguments may name another
};

std::vector<std::string> start_command(const StartRequest& request);

// This process's environment without what its own launcher has put there: a second launcher, or the
// program, would take it for its own. `set` is added.
std::vector<std::string> start_environment(const std::map<std::string, std::string>& set);

// Each {name} in arguments is replaced by its value.
std::vector<std::string> filled(const std::vector<std::string>& arguments,
                                const std::map<std::string, std::string>& values);

}  // namespace cb
