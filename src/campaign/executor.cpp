#include "campaign/executor.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include "campaign/paced_input.h"
#include "campaign/process.h"
#include "campaign/session_folder.h"
#include "core/clock.h"
#include "core/error.h"

namespace cb {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(20);

struct Running {
  size_t task = 0;
  std::unique_ptr<PacedInput> input;  // goes after the process, whose output it reads to the end
  std::unique_ptr<Process> process;
  double start = 0;
  double deadline = 0;
  double kill_at = 0;  // 0: the task was not asked to end yet
  bool killed = false;
  bool stopped = false;
  bool silent = false;      // it has not started in time
  double start_by = 0;      // 0: it has started, or need not say so
  uintmax_t out_begin = 0;  // size of its output before it began
};

uintmax_t size_of(const std::filesystem::path& file) {
  std::error_code absent;
  const uintmax_t size = std::filesystem::file_size(file, absent);
  return absent ? 0 : size;
}

class Executor {
 public:
  Executor(const std::vector<Task>& tasks, const ExecutorOptions& options,
           const ExecutorEvents& events)
      : tasks_(tasks), options_(options), events_(events) {}

  void run() {
    while (next_ < tasks_.size() || !running_.empty()) {
      look_for_stop();
      while (!stopping_ && next_ < tasks_.size() && running_.size() < options_.fan_out) start();
      if (stopping_ && running_.empty()) return;
      for (auto r = running_.begin(); r != running_.end();)
        r = attend(*r) ? running_.erase(r) : ++r;
      if (!running_.empty()) std::this_thread::sleep_for(kPollInterval);
    }
  }

 private:
  void look_for_stop() {
    const int signals = options_.stop_signals();
    if (signals > 0 && !stopping_) {
      stopping_ = true;
      events_.stopping();
      for (Running& r : running_) {
        r.stopped = r.kill_at == 0;  // a task past its deadline keeps that end
        terminate(r);
      }
    }
    if (signals > 1) {
      for (Running& r : running_) kill(r);
    }
  }

  void start() {
    const size_t index = next_++;
    const Task& task = tasks_[index];
    events_.starting(index);
    Running r{.task = index, .start = monotonic_seconds()};
    r.deadline = r.start + task.deadline_seconds;
    if (task.start_deadline_seconds > 0) {
      r.start_by = r.start + task.start_deadline_seconds;
      r.out_begin = size_of(task.out);
    }
    try {
      start_process(r, task);
    } catch (const Error& e) {
      events_.ended(index, {TaskEnd::Kind::not_started, 0, 0, e.what()});
      return;
    }
    running_.push_back(std::move(r));
  }

  static void start_process(Running& r, const Task& task) {
    if (task.piece > 0) r.input = std::make_unique<PacedInput>(task.in, task.out, task.piece);
    r.process = std::make_unique<Process>(task.command.argv, task.command.environment,
                                          r.input ? r.input->out() : task.out, task.err,
                                          r.input ? r.input->in() : task.in);
    if (r.input) r.input->start();
  }

  // Returns true if the task has ended.
  bool attend(Running& r) {
    const auto end = r.process->poll();
    if (end) {
      r.input.reset();  // all that was said is in its file
      events_.ended(r.task, end_of(r, *end));
      return true;
    }
    const double now = monotonic_seconds();
    if (r.kill_at == 0 && r.start_by != 0 && now >= r.start_by) look_for_start(r);
    if (r.kill_at == 0 && now >= r.deadline) terminate(r);
    if (r.kill_at != 0 && now >= r.kill_at) kill(r);
    return false;
  }

  void look_for_start(Running& r) {
    r.start_by = 0;
    r.silent = size_of(tasks_[r.task].out) <= r.out_begin;
    if (r.silent) terminate(r);
  }

  void terminate(Running& r) {
    if (r.kill_at != 0) return;
    r.kill_at = monotonic_seconds() + options_.term_grace_seconds;
    r.process->signal_group(SIGTERM);
  }

  static void kill(Running& r) {
    if (r.killed) return;
    r.killed = true;
    r.process->signal_group(SIGKILL);
  }

  static TaskEnd end_of(const Running& r, const ProcessEnd& end) {
    TaskEnd out{TaskEnd::Kind::exited, end.code, monotonic_seconds() - r.start, ""};
    if (r.stopped)
      out.kind = TaskEnd::Kind::stopped;
    else if (r.silent)
      out.kind = TaskEnd::Kind::silent;
    else if (r.kill_at != 0)
      out.kind = TaskEnd::Kind::deadline;
    else if (end.signalled)
      out.kind = TaskEnd::Kind::signalled;
    return out;
  }

  const std::vector<Task>& tasks_;
  const ExecutorOptions& options_;
  const ExecutorEvents& events_;
  std::list<Running> running_;
  size_t next_ = 0;
  bool stopping_ = false;
};

}  // namespace

void run_tasks(const std::vector<Task>& tasks, const ExecutorOptions& options,
               const ExecutorEvents& events) {
  std::optional<KeptSessionFolder> kept;
  if (tasks.size() > 1 && std::ranges::any_of(tasks, &Command::by_open_mpi, &Task::command))
    kept.emplace(open_mpi_temporary());
  Executor(tasks, options, events).run();
}

}  // namespace cb
