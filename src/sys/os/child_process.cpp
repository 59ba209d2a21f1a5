#include "sys/os/child_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"

extern char** environ;

namespace cb {
namespace {

constexpr size_t kMaxOutput = size_t{1} << 20;
// For the end of a killed child. One that is stuck in a driver ends when that call comes back.
constexpr double kEndSeconds = 2;
constexpr int kLookAgainMilliseconds = 10;  // whether a child that says nothing has ended

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& t : texts) out.push_back(const_cast<char*>(t.c_str()));
  out.push_back(nullptr);
  return out;
}

// Checked here because a failing spawn would look as if the program were missing.
void require_null_device(const std::string& program) {
  if (::access("/dev/null", R_OK | W_OK) == 0) return;
  throw Error(said("child.no_null_device", program, std::strerror(errno)));
}

// The order counts: `out` may be the report's own descriptor, or one of the first three.
void place_descriptors(posix_spawn_file_actions_t& actions, int out, ChildKind kind) {
  const bool is_trial = kind == ChildKind::trial;
  posix_spawn_file_actions_adddup2(&actions, out, is_trial ? kReportDescriptor : STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  if (is_trial) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
}

pid_t spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            int out, ChildKind kind) {
  require_null_device(argv[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  place_descriptors(actions, out, kind);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (kind == ChildKind::trial) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int rc = posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, pointers(argv).data(),
                             pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) throw Error(said("child.not_started", argv[0], std::strerror(rc)));
  return pid;
}

// True if the child has ended. It stays a zombie: its number, and that of its group, is not given
// to another process yet. Where SIGCHLD is ignored there is no zombie, and no status.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD;
  return info.si_pid == pid;
}

// Takes what is in the pipe, at most one buffer of it. False at the end of the file.
bool take(int fd, std::string& out) {
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  if (got > 0 && out.size() < kMaxOutput) out.append(buffer, static_cast<size_t>(got));
  return got != 0;
}

// Reads until nobody can write any more, or the child has ended and all that it wrote is read. What
// it has started may hold the pipe for longer. False at the deadline.
bool read_until(int fd, pid_t pid, double deadline, std::string& out) {
  for (;;) {
    if (monotonic_seconds() >= deadline) return false;
    const bool ended = has_ended(pid);  // asked for before the pipe: then all is in it
    pollfd ready{fd, POLLIN, 0};
    const int n = poll(&ready, 1, ended ? 0 : kLookAgainMilliseconds);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0 && !take(fd, out)) return true;
    if (n == 0 && ended) return true;
  }
}

void end_all_of(pid_t pid, ChildKind kind) { kill(kind == ChildKind::trial ? -pid : pid, SIGKILL); }

// The child may close its pipe and continue: it too has time until the deadline. The status of its
// end; -1: it does not end.
int wait_for(pid_t pid, double deadline, ChildKind kind, bool& in_time) {
  int status = 0;
  while (!has_ended(pid)) {
    const double late = monotonic_seconds() - deadline;
    if (in_time && late >= 0) {
      in_time = false;
      end_all_of(pid, kind);
    }
    if (late >= kEndSeconds) return -1;
    usleep(1000);
  }
  if (kind == ChildKind::trial) end_all_of(pid, kind);  // what it has started
  return waitpid(pid, &status, 0) == pid ? status : -1;
}

}  // namespace

std::vector<std::string> child_environment(const std::vector<std::string>& drop_prefixes,
                                           const std::map<std::string, std::string>& set) {
  std::vector<std::string> out;
  // clearenv(), which a library may have called, leaves no list.
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool keep = !set.contains(text.substr(0, text.find('=')));
    for (const std::string& prefix : drop_prefixes) keep = keep && !text.starts_with(prefix);
    if (keep) out.push_back(text);
  }
  for (const auto& [name, value] : set) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

ChildResult run_child(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, double deadline_seconds,
                      ChildKind kind) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const double deadline = monotonic_seconds() + deadline_seconds;
  pid_t pid = 0;
  try {
    pid = spawn(argv, environment, ends[1], kind);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  ChildResult result;
  bool in_time = read_until(ends[0], pid, deadline, result.out);
  close(ends[0]);
  if (!in_time) end_all_of(pid, kind);
  const int status = wait_for(pid, deadline, kind, in_time);
  result.late = !in_time;
  if (!in_time) {
    result.how = fmt::format("did not end within {} s and was killed", deadline_seconds);
  } else if (status < 0) {
    result.how = "its end is not known";
  } else if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.how = fmt::format("killed by signal {} ({})", result.signal, strsignal(result.signal));
  } else {
    result.exit_code = WEXITSTATUS(status);
    result.ok = result.exit_code == 0;
    result.how = fmt::format("exit code {}", *result.exit_code);
  }
  return result;
}

}  // namespace cb
