#include "bench/external/program_run.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"

namespace cb {
namespace {

constexpr double kGraceSeconds = 5;
constexpr useconds_t kPollMicroseconds = 20000;

// Everything that the child needs, made before fork: behind it no memory may be allocated.
struct PreparedStart {
  std::vector<char*> argv, environment;
  int out = -1, null = -1, report = -1;
  const char* directory = nullptr;
  pid_t parent = 0;
  const cpu_set_t* cpus = nullptr;  // to run on; null: those of this process
};

std::vector<char*> pointers_of(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& t : texts) out.push_back(const_cast<char*>(t.c_str()));
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void run_child_of(const PreparedStart& p) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // Only a wish: what the control group does not allow stays forbidden.
  if (p.cpus != nullptr) ::sched_setaffinity(0, sizeof *p.cpus, p.cpus);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool ready = ::getppid() == p.parent && ::chdir(p.directory) == 0 &&
                     ::dup2(p.null, STDIN_FILENO) >= 0 && ::dup2(p.out, STDOUT_FILENO) >= 0 &&
                     ::dup2(p.out, STDERR_FILENO) >= 0;
  if (ready) ::execvpe(p.argv[0], p.argv.data(), p.environment.data());
  const int error = errno;
  const ssize_t written = ::write(p.report, &error, sizeof error);
  static_cast<void>(written);
  ::_exit(127);
}

class ClosedAtEnd {
 public:
  explicit ClosedAtEnd(int fd) : fd_(fd) {}
  ~ClosedAtEnd() { reset(); }
  ClosedAtEnd(const ClosedAtEnd&) = delete;
  ClosedAtEnd& operator=(const ClosedAtEnd&) = delete;
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

[[noreturn]] void throw_errno(int error) { throw Error(Said(std::strerror(error))); }

// Waits for exec: nothing comes if it succeeded, else the reason.
std::optional<int> exec_error(int report) {
  int error = 0;
  ssize_t n = 0;
  do n = ::read(report, &error, sizeof error);
  while (n < 0 && errno == EINTR);
  return n == sizeof error ? std::optional<int>(error) : std::nullopt;
}

pid_t start_program(const ProgramStart& start) {
  PreparedStart prepared{.argv = pointers_of(start.argv),
                         .environment = pointers_of(start.environment)};
  const ClosedAtEnd out(::open(start.out.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (out.get() < 0) throw_errno(errno);
  const ClosedAtEnd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null.get() < 0) throw_errno(errno);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno(errno);
  const ClosedAtEnd reading(ends[0]);
  ClosedAtEnd writing(ends[1]);
  prepared.out = out.get();
  prepared.null = null.get();
  prepared.report = writing.get();
  prepared.directory = start.directory.c_str();
  prepared.parent = ::getpid();
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  if (start.any_cpu) prepared.cpus = &all;
  const pid_t pid = ::fork();
  if (pid == 0) run_child_of(prepared);
  if (pid < 0) throw_errno(errno);
  ::setpgid(pid, pid);  // parent and child both call it, whichever comes first
  writing.reset();
  if (const auto error = exec_error(reading.get())) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw_errno(*error);
  }
  return pid;
}

bool is_larger(const std::filesystem::path& file, size_t bytes) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && static_cast<size_t>(status.st_size) > bytes;
}

}  // namespace

ProgramEnd run_program(const ProgramStart& start, const std::function<bool()>& cancelled) {
  const double begun = monotonic_seconds();
  const pid_t pid = start_program(start);
  std::optional<ProgramEnd::Kind> asked;
  double kill_at = 0;
  for (;;) {
    int status = 0;
    siginfo_t info{};
    // What it has left behind would run beside the next measurement. Until it is reaped, its
    // group's number is its own.
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid)
      ::kill(-pid, SIGKILL);
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    const double now = monotonic_seconds();
    const int error = errno;
    if (got == pid || (got < 0 && error != EINTR)) {
      if (asked) return {*asked, 0, now - begun};
      if (got != pid) throw_errno(error);  // nobody knows how it ended
      if (is_larger(start.out, start.most_bytes))
        return {ProgramEnd::Kind::flooded, 0, now - begun};
      if (WIFSIGNALED(status)) return {ProgramEnd::Kind::signalled, WTERMSIG(status), now - begun};
      return {ProgramEnd::Kind::exited, WEXITSTATUS(status), now - begun};
    }
    if (!asked && cancelled()) asked = ProgramEnd::Kind::cancelled;
    if (!asked && now - begun >= start.deadline_seconds) asked = ProgramEnd::Kind::deadline;
    if (!asked && is_larger(start.out, start.most_bytes)) asked = ProgramEnd::Kind::flooded;
    if (asked && kill_at == 0) {
      ::kill(-pid, SIGTERM);
      kill_at = now + kGraceSeconds;
    }
    if (kill_at != 0 && now >= kill_at) ::kill(-pid, SIGKILL);
    ::usleep(kPollMicroseconds);
  }
}

}  // namespace cb
