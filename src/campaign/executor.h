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
};

struct TaskEnd {
  enum class Kind { exited, signalled, deadline, stopped, not_started };
  Kind kind = Kind::exited;
  int code = 0;  // exit status, or the signal's number
  double seconds = 0;
  std::string error;  // why it could not be started
};

struct ExecutorOptions {
  size_t fan_out = 32;            // at most so many at once
  double term_grace_seconds = 5;  // between SIGTERM and SIGKILL
  std::function<int()>
      stop_signals         // how often the user asked to stop: once ends the tasks gently,
      = [] { return 0; };  // twice at once
};

struct ExecutorEvents {
  std::function<void(size_t)> starting;               // before the task's process exists
  std::function<void(size_t, const TaskEnd&)> ended;  // in the order of their ends
  std::function<void()> stopping = [] {};             // once, when the first stop is seen
};

// Runs the tasks, at most fan_out at a time. Past its deadline a task's process group gets SIGTERM,
// after the grace SIGKILL. A stop starts no further task. Whatever throws, no task outlives the
// call.
void run_tasks(const std::vector<Task>& tasks, const ExecutorOptions& options,
               const ExecutorEvents& events);

}  // namespace cb
