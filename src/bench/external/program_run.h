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
  bool any_cpu = false;  // not only the CPUs to which this process is bound
};

struct ProgramEnd {
  enum class Kind { exited, signalled, deadline, cancelled };
  Kind kind = Kind::exited;
  int code = 0;  // exit status or signal number
  double seconds = 0;
};

// Runs it in a process group of its own and waits. The group gets SIGTERM at the deadline or when
// `cancelled` says so, and SIGKILL five seconds later; it also ends with this process. Throws Error
// with the system's reason if it cannot be started.
ProgramEnd run_program(const ProgramStart& start, const std::function<bool()>& cancelled);

}  // namespace cb
