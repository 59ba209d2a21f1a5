#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cb {

// How a child process ended.
struct ChildResult {
  std::string out;       // the child's stdout or report, at most 1 MiB
  bool ok = false;       // true if the exit code was 0 before the deadline
  std::string how = {};  // "exit code 3", "killed by signal 4 (Illegal instruction)", "deadline"
  bool late = false;     // true if it was killed at the deadline
  int signal = 0;        // that killed it before the deadline; 0: none
  std::optional<int> exit_code = {};  // nothing: it was killed
};

// Returns the environment for a child: this process's, without variables whose name starts with one
// of `drop_prefixes`, plus `set`.
std::vector<std::string> child_environment(const std::vector<std::string>& drop_prefixes,
                                           const std::map<std::string, std::string>& set);

// The descriptor on which a trial reports.
inline constexpr int kReportDescriptor = 3;

enum class ChildKind {
  program,  // its stdout is read. It stays in this process's group: Ctrl-C at a terminal ends both
  trial,    // kReportDescriptor is read, and its stdout is /dev/null. It leads a group of its own,
            // which is killed at its end: what it has started ends with it, and signals that it
            // sends to its group do not come here. Ctrl-C does not reach it either: it asks the
            // kernel to end it with its parent
};

// Runs `argv` (argv[0] is the file) with stdin and stderr on /dev/null and waits for its end, not
// for that of processes which it leaves. Kills it after `deadline_seconds`, and leaves it where it
// does not even end then. Throws Error only if no process can be started, never for what the child
// does.
ChildResult run_child(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, double deadline_seconds,
                      ChildKind kind = ChildKind::program);

}  // namespace cb
