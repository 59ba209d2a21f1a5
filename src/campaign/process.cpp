#include "campaign/process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/inherited.h"

namespace cb {
namespace {

// For the end of a child that was killed: one that waits for a dead file server does not end.
constexpr int kEndLooks = 3000, kLookMicroseconds = 1000;

// All that the child needs, made before the fork: after the fork only async-signal-safe calls are
// allowed.
struct Prepared {
  std::vector<char*> argv;
  std::vector<std::string> storage;
  std::vector<char*> environment;
  int out = -1, err = -1, in = -1, report = -1;
};

int open_log(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) throw Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  return fd;
}

int open_input(const std::filesystem::path& path, const std::string& program) {
  const int fd = ::open(path.empty() ? "/dev/null" : path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) return fd;
  const int error = errno;
  if (!path.empty())
    throw Error(fmt::format("cannot read {}: {}", path.string(), std::strerror(error)));
  throw Error(
      fmt::format("cannot start {}: /dev/null cannot be opened: {}; next: mount /dev in this "
                  "container",
                  program, std::strerror(error)));
}

[[noreturn]] void child(const Prepared& prepared, pid_t parent) {
  const auto fail = [&] {
    const int error = errno;
    if (::write(prepared.report, &error, sizeof error) < 0) ::_exit(126);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // the parent died before prctl()
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT, SIGCHLD})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(prepared.in, 0) < 0 || ::dup2(prepared.out, 1) < 0 || ::dup2(prepared.err, 2) < 0)
    fail();
  ::execvpe(prepared.argv[0], prepared.argv.data(), prepared.environment.data());
  fail();
  ::_exit(127);
}

// hwloc's plugin for displays asks ten displays by the name localhost. If /etc/hosts lacks that
// name and the name server does not answer, each question costs mpirun ten seconds. No job here
// needs a display.
constexpr const char* kNoDisplays = "HWLOC_COMPONENTS";

// The mpirun of Open MPI 5 ends where this is not set. It looks for settings there.
constexpr const char* kHome = "HOME";

std::vector<std::string> merged_environment(std::map<std::string, std::string> added) {
  if (::getenv(kNoDisplays) == nullptr) added.emplace(kNoDisplays, "-gl");
  if (::getenv(kHome) == nullptr) added.emplace(kHome, "/");
  std::vector<std::string> out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {  // clearenv() leaves no list
    const std::string entry = *e;
    const std::string name = entry.substr(0, entry.find('='));
    if (!added.contains(name) && !tells_of_process(name)) out.push_back(entry);
  }
  for (const auto& [name, value] : added) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

class Descriptors {
 public:
  ~Descriptors() {
    for (const int fd : fds_) ::close(fd);
  }
  int keep(int fd) {
    if (fd >= 0) fds_.push_back(fd);
    return fd;
  }

 private:
  std::vector<int> fds_;
};

}  // namespace

Process::Process(const std::vector<std::string>& argv,
                 const std::map<std::string, std::string>& environment,
                 const std::filesystem::path& out, const std::filesystem::path& err,
                 const std::filesystem::path& in) {
  std::vector<std::string> arguments = argv;
  Prepared prepared;
  prepared.argv = pointers(arguments);
  prepared.storage = merged_environment(environment);
  prepared.environment = pointers(prepared.storage);
  Descriptors descriptors;
  prepared.out = descriptors.keep(open_log(out));
  prepared.err = descriptors.keep(open_log(err));
  prepared.in = descriptors.keep(open_input(in, argv[0]));
  int report[2] = {-1, -1};
  if (::pipe2(report, O_CLOEXEC) != 0)
    throw Error(fmt::format("cannot start {}: {}", argv[0], std::strerror(errno)));
  const int reading = descriptors.keep(report[0]);
  prepared.report = report[1];
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) child(prepared, parent);
  const int fork_error = errno;
  ::close(report[1]);
  if (pid_ < 0) throw Error(fmt::format("cannot start {}: {}", argv[0], std::strerror(fork_error)));
  ::setpgid(pid_, pid_);  // parent and child both call it, whichever comes first
  int error = 0;
  ssize_t n = 0;
  do n = ::read(reading, &error, sizeof error);
  while (n < 0 && errno == EINTR);
  if (n == 0) return;  // a successful exec closed the pipe
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  throw Error(fmt::format("cannot start {}: {}", argv[0], std::strerror(error)));
}

Process::~Process() {
  if (pid_ < 0) return;
  signal_group(SIGKILL);
  for (int i = 0; i < kEndLooks && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++i)
    ::usleep(kLookMicroseconds);
}

std::optional<ProcessEnd> Process::poll() {
  siginfo_t info{};
  // Until the child is reaped, its group's number is not given to others, so killing the group is
  // safe.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  signal_group(SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (WIFSIGNALED(status)) return ProcessEnd{true, WTERMSIG(status)};
  return ProcessEnd{false, WEXITSTATUS(status)};
}

void Process::signal_group(int signal) noexcept {
  if (pid_ > 0) ::kill(-pid_, signal);
}

}  // namespace cb
