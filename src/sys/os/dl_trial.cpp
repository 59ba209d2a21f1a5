#include "sys/os/dl_trial.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/messages/mentions.h"
#include "sys/os/child_process.h"

namespace cb::library_trial {
namespace {

constexpr std::string_view kWord = "library-trial";

// The child writes kBegun, then kOpened or kRefused each time that dlopen() returns. A copy of it
// that a library has made, and in which dlopen() returns as well, writes kCopied.
constexpr char kBegun = 'b', kOpened = 'o', kRefused = 'r', kCopied = 'c';
constexpr int kCopyLooks = 200, kLookMicroseconds = 5'000;  // a second for a copy to come that far

// The child's exit code where a library has closed descriptors that are not its own, among them
// perhaps that of the report.
constexpr int kFilesClosed = 93;

struct Trials {
  std::mutex mutex;
  std::vector<std::string> program;
  double seconds = kSeconds;
  bool is_inside = false;  // of another process's trial
  std::map<std::vector<std::string>, std::optional<Unsafe>> known;
};

// Of the process, like the loader. It has no destructor: threads that are left behind use it.
Trials& trials() {
  static auto* const here = new Trials;
  return *here;
}

std::string own_mark() { return std::to_string(::getpid()); }

Said what_it_does(const std::string& name, const ChildResult& end, double seconds) {
  if (end.out.find(kOpened) != std::string::npos) return said("dl.copies", name);
  if (end.signal == SIGKILL) return said("dl.killed", name);
  if (end.signal != 0) return said("dl.crashes", name, end.signal, ::strsignal(end.signal));
  if (end.exit_code == kFilesClosed) return said("dl.closes", name);
  if (end.exit_code) return said("dl.ends", name, *end.exit_code);
  return end.late ? said("dl.hangs", name, seconds) : said("dl.vanishes", name);
}

// Nothing is known of the libraries if the child has not begun: another program may have been
// started in its place, as where the loader was called by its name.
std::optional<Unsafe> finding(const std::vector<std::string>& names, const ChildResult& end,
                              double seconds) {
  const auto told = [&](char what) { return std::ranges::count(end.out, what); };
  const auto refused = static_cast<size_t>(told(kRefused));
  const bool is_safe = told(kOpened) > 0 && told(kCopied) == 0;
  if (told(kBegun) == 0 || is_safe || refused >= names.size()) return std::nullopt;
  return Unsafe{names[refused], what_it_does(names[refused], end, seconds)};
}

std::optional<Unsafe> ask(std::vector<std::string> argv, const std::vector<std::string>& names,
                          double seconds) {
  argv.insert(argv.end(), names.begin(), names.end());
  // A process that ignores it, as a library may want, sees no child's end.
  ::signal(SIGCHLD, SIG_DFL);
  try {
    const auto environment = child_environment({}, {{kMarker, own_mark()}});
    return finding(names, run_child(argv, environment, seconds, ChildKind::trial), seconds);
  } catch (const Error&) {  // no child can be started here
    return std::nullopt;
  }
}

// The report, for this process alone, and, where one is free, under a number that a library does
// not meet by chance.
int take_report() {
  constexpr int kOutOfTheWay = 100;
  const int report = ::fcntl(kReportDescriptor, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (report < 0) return kReportDescriptor;
  ::close(kReportDescriptor);
  return report;
}

bool has_its_files() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(standard, F_GETFD) < 0) return false;
  return true;
}

void tell(int report, char what) {
  if (::write(report, &what, 1) != 1) ::_exit(kFilesClosed);
}

// A copy ends when it has told; what else the library has started may go on.
void wait_for_copies() {
  for (int i = 0; i < kCopyLooks && ::waitpid(-1, nullptr, WNOHANG) == 0; ++i)
    ::usleep(kLookMicroseconds);
}

// The child of a program that was killed ends too, and leaves no core file.
void leave_nothing() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace

void begin(std::vector<std::string> program, double seconds) {
  const std::lock_guard lock(trials().mutex);
  const char* mark = std::getenv(kMarker);
  trials().is_inside = mark != nullptr && mark != own_mark();
  if (!trials().is_inside) ::setenv(kMarker, own_mark().c_str(), 1);
  trials().program = std::move(program);
  trials().seconds = seconds;
  trials().known.clear();
}

std::optional<Unsafe> first_unsafe(const std::vector<std::string>& names, int flags) {
  std::unique_lock lock(trials().mutex);
  if (trials().program.empty() || names.empty()) return std::nullopt;
  if (trials().is_inside) return Unsafe{names.front(), said("dl.inside", names.front())};
  std::vector<std::string> argv = trials().program, words = names;
  words.push_back(std::to_string(flags));
  if (const auto found = trials().known.find(words); found != trials().known.end())
    return found->second;
  const double seconds = trials().seconds;
  lock.unlock();  // another library need not wait for this one
  argv.insert(argv.end(), {std::string(kWord), std::to_string(flags)});
  const auto result = ask(std::move(argv), names, seconds);
  lock.lock();
  return trials().known.emplace(std::move(words), result).first->second;
}

bool has_begun() {
  const std::lock_guard lock(trials().mutex);
  return !trials().program.empty();
}

bool is_unsafe(const Said& why) {
  return mentions(why.message(), {"dl.crashes", "dl.ends", "dl.hangs", "dl.closes", "dl.inside",
                                  "dl.copies", "dl.killed", "dl.vanishes"});
}

bool is_slow(const Said& why) { return mentions(why.message(), {"dl.hangs"}); }

bool is_asked_for(int argc, char** argv) { return argc > 3 && argv[1] == kWord; }

void run(int argc, char** argv) {
  const int report = take_report();
  leave_nothing();
  const int flags = std::atoi(argv[2]);
  const pid_t self = ::getpid();
  bool is_open = false;
  tell(report, kBegun);
  for (int i = 3; i < argc && !is_open; ++i) {
    is_open = ::dlopen(argv[i], flags) != nullptr;
    if (::getpid() != self) {
      tell(report, kCopied);
      ::_exit(0);
    }
    if (!has_its_files()) ::_exit(kFilesClosed);
    tell(report, is_open ? kOpened : kRefused);
    wait_for_copies();
  }
  ::_exit(0);  // not its destructors
}

}  // namespace cb::library_trial
