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

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& t : texts) out.push_back(const_cast<char*>(t.c_str()));
  out.push_back(nullptr);
  return out;
}

// Checked here because a failing spawn would look as if the program were missing.
void require_null_device(const std::string& program) {
  if (::access("/dev/null", R_OK | W_OK) == 0) return;
  throw Error(fmt::format(
      "cannot start {}: /dev/null cannot be opened: {}; next: mount /dev in this container",
      program, std::strerror(errno)));
}

pid_t spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            int out) {
  require_null_device(argv[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int rc = posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, pointers(argv).data(),
                             pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) throw Error(fmt::format("cannot start {}: {}", argv[0], std::strerror(rc)));
  return pid;
}

// Reads until the end of the file or the deadline; true if the end came first.
bool read_until(int fd, double deadline, std::string& out) {
  char buffer[4096];
  for (;;) {
    const double left = deadline - monotonic_seconds();
    if (left <= 0) return false;
    pollfd ready{fd, POLLIN, 0};
    const int n = poll(&ready, 1, static_cast<int>(left * 1000) + 1);
    if (n < 0 && errno != EINTR) return false;
    if (n <= 0) continue;
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got == 0) return true;
    if (got > 0 && out.size() < kMaxOutput) out.append(buffer, static_cast<size_t>(got));
  }
}

// The child may close stdout and continue: it too has time until the deadline.
int wait_for(pid_t pid, double deadline, bool& in_time) {
  int status = 0;
  for (;;) {
    const pid_t got = waitpid(pid, &status, in_time ? WNOHANG : 0);
    if (got == pid) return status;
    if (got < 0 && errno != EINTR) return -1;
    if (in_time && monotonic_seconds() >= deadline) {
      in_time = false;
      kill(pid, SIGKILL);
    }
    if (in_time) usleep(1000);
  }
}

}  // namespace

std::vector<std::string> child_environment(const std::vector<std::string>& drop_prefixes,
                                           const std::map<std::string, std::string>& set) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool keep = !set.contains(text.substr(0, text.find('=')));
    for (const std::string& prefix : drop_prefixes) keep = keep && !text.starts_with(prefix);
    if (keep) out.push_back(text);
  }
  for (const auto& [name, value] : set) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

ChildResult run_child(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, double deadline_seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const double deadline = monotonic_seconds() + deadline_seconds;
  pid_t pid = 0;
  try {
    pid = spawn(argv, environment, ends[1]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  ChildResult result;
  bool in_time = read_until(ends[0], deadline, result.out);
  close(ends[0]);
  if (!in_time) kill(pid, SIGKILL);
  const int status = wait_for(pid, deadline, in_time);
  if (!in_time) {
    result.how = fmt::format("did not end within {} s and was killed", deadline_seconds);
  } else if (WIFSIGNALED(status)) {
    result.how =
        fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    result.ok = WEXITSTATUS(status) == 0;
    result.how = fmt::format("exit code {}", WEXITSTATUS(status));
  }
  return result;
}

}  // namespace cb
