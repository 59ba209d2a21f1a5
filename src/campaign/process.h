#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cb {

// How a process ended.
struct ProcessEnd {
  bool signalled = false;
  int code = 0;  // exit status or signal number
};

// A child process in its own process group, so that it and all that it started can be ended
// together. It gets SIGTERM when this process dies. stdin is a file or empty; stdout and stderr are
// appended to files. Start it from the main thread: the kernel ties the death signal to the thread.
class Process {
 public:
  // Adds `environment` to this process's own, without the variables that describe a launched
  // process (inherited.h). Throws Error if the program cannot be started.
  Process(const std::vector<std::string>& argv,
          const std::map<std::string, std::string>& environment, const std::filesystem::path& out,
          const std::filesystem::path& err, const std::filesystem::path& in = {});
  // Kills the whole group if it is still running, and waits up to three seconds for its end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Returns how it ended, or nothing while it runs. Once it has ended, kills what is left of its
  // group.
  std::optional<ProcessEnd> poll();
  // Sends the signal to the whole group.
  void signal_group(int signal) noexcept;

 private:
  pid_t pid_ = -1;
};

}  // namespace cb
