#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "campaign/launcher.h"

namespace cb {

// A command with a time limit.
struct Task {
  Command command;
  std::filesystem::path out, err;
  double deadline_seconds = 600;
  double start_deadline_seconds = 0;  // until then it has written to `out`; 0: it need not
  std::filesystem::path in = {};      // its standard input; empty: nothing
  size_t piece = 0;  // bytes of `in` that it gets at once, as often as it asks; 0: all
};

struct TaskEnd {
  enum class Kind { exited, signalled, deadline, stopped, not_started, silent };
  Kind kind = Kind::exited;
  int code = 0;  // exit status or signal number
  double seconds = 0;
  std::string error;  // the reason if it could not be started
};

struct ExecutorOptions {
  size_t fan_out = 32;            // largest number of tasks at once
  double term_grace_seconds = 5;  // between SIGTERM and SIGKILL
  // How often the user asked to stop: 1 ends the tasks gently, 2 or more kills them at once.
  std::function<int()> stop_signals = [] { return 0; };
};

struct ExecutorEvents {
  std::function<void(size_t)> starting;               // before the task's process exists
  std::function<void(size_t, const TaskEnd&)> ended;  // in the order in which the tasks end
  std::function<void()> stopping = [] {};             // called once, when the first stop is seen
};

// Runs the tasks, at most fan_out at a time. A task's process group gets SIGTERM at its deadline,
// or if it has written nothing to `out` by its start deadline (Kind::silent), and SIGKILL
// term_grace_seconds later. After a stop no further task starts. No task outlives the call, even if
// it throws.
void run_tasks(const std::vector<Task>& tasks, const ExecutorOptions& options,
               const ExecutorEvents& events);

}  // namespace cb
