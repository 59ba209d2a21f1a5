#pragma once

#include <map>
#include <string>
#include <vector>

namespace cb {

// How a child process ended.
struct ChildResult {
  std::string out;       // the child's stdout, at most 1 MiB
  bool ok = false;       // true if the exit code was 0 before the deadline
  std::string how = {};  // "exit code 3", "killed by signal 4 (Illegal instruction)", "deadline"
};

// Returns the environment for a child: this process's, without variables whose name starts with one
// of `drop_prefixes`, plus `set`.
std::vector<std::string> child_environment(const std::vector<std::string>& drop_prefixes,
                                           const std::map<std::string, std::string>& set);

// Runs `argv` (argv[0] is the file) with stdin and stderr on /dev/null and waits for its end. Kills
// it after `deadline_seconds`. Throws Error only if no process can be started, never for what the
// child does.
ChildResult run_child(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, double deadline_seconds);

}  // namespace cb
