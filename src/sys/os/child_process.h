#pragma once

#include <map>
#include <string>
#include <vector>

namespace cb {

// How a child process ended.
struct ChildResult {
  std::string out;       // what it wrote to stdout, at most 1 MiB
  bool ok = false;       // exit code 0 before the deadline
  std::string how = {};  // "exit code 3", "killed by signal 4 (Illegal instruction)", "deadline"
};

// Environment of a child: this process's without the variables whose name starts with one of
// `drop_prefixes`, and with `set` on top.
std::vector<std::string> child_environment(const std::vector<std::string>& drop_prefixes,
                                           const std::map<std::string, std::string>& set);

// Runs `argv` (argv[0] is the file) with stdin and stderr on /dev/null and waits for its end; after
// `deadline_seconds` it is killed. Never throws for what the child does; throws Error if no process
// can be started.
ChildResult run_child(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, double deadline_seconds);

}  // namespace cb
