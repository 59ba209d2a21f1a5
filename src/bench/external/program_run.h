#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cb {

// A program of others, to be started in a directory of ours.
struct ProgramStart {
  std::vector<std::string> argv;         // argv[0] is a path, or a name in the PATH
  std::vector<std::string> environment;  // whole
  std::filesystem::path directory;       // its working directory
  std::filesystem::path out;             // takes what it writes to both of its outputs
  double deadline_seconds = 600;
  size_t most_bytes = size_t{64} << 20;  // of `out`
  bool any_cpu = false;                  // not only the CPUs to which this process is bound
};

struct ProgramEnd {
  enum class Kind { exited, signalled, deadline, cancelled, flooded };
  Kind kind = Kind::exited;
  int code = 0;  // exit status or signal number
  double seconds = 0;
};

// Runs it in a process group of its own and waits. The group gets SIGTERM at the deadline, when
// `cancelled` says so or when it has written more than most_bytes (flooded), and SIGKILL five
// seconds later; it also ends with this process, and nothing of the group outlives the program.
// Throws Error with the system's reason if it cannot be started, or if nobody knows how it ended.
ProgramEnd run_program(const ProgramStart& start, const std::function<bool()>& cancelled);

}  // namespace cb
