#include "cli/launched_child.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/process.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/secrets.h"
#include "core/text.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

constexpr double kEndSeconds = 3;                // for the end of a launcher that was asked to end
constexpr size_t kMostOutput = size_t{8} << 20;  // bytes
constexpr size_t kMostWords = 300;               // bytes
constexpr size_t kAtOnce = 32;                   // launchers

// A file without a name on any disk, which another process writes by its path here.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("launched", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (file_.get() < 0) throw Error(fmt::format("no file in memory: {}", std::strerror(errno)));
  }
  // What outlives its launcher writes no more either.
  ~MemoryFile() { end_growth(); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Whoever writes more gets an error.
  void end_growth() const { ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_GROW); }
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }
  size_t size() const {
    struct stat info {};
    return ::fstat(file_.get(), &info) == 0 ? static_cast<size_t>(info.st_size) : 0;
  }
  std::string text() const {
    std::string out(std::min(size(), kMostOutput), '\0');
    const ssize_t got = ::pread(file_.get(), out.data(), out.size(), 0);
    out.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return out;
  }

 private:
  Descriptor file_;
};

// A frame around a message, and the headline above the problems of a command.
bool is_frame(const std::string& line) {
  const auto is_of_rule = [](char c) { return c == '-' || c == '='; };
  const bool is_ruled = !line.empty() && std::ranges::all_of(line, is_of_rule);
  return is_ruled || (line.starts_with("clusterbench") && line.ends_with(" problem"));
}

// What was said first, up to the next frame: ssh's own words come before those of a launcher that
// did not reach a host. Lines that begin with a place in a program count where there is no other.
std::string first_words(const std::string& text) {
  std::istringstream lines(text);
  std::string place, words;
  for (std::string line; std::getline(lines, line) && words.size() < kMostWords;) {
    if (line.ends_with('\r')) line.pop_back();  // ssh's, as for a terminal
    line = terminal_safe(line);
    line.erase(0, line.find_first_not_of(' '));
    if (line.empty()) continue;
    if (is_frame(line)) {
      if (!words.empty()) break;
    } else if (!line.starts_with('[')) {
      words += (words.empty() ? "" : " ") + line;
    } else if (place.empty()) {
      place = line;
    }
  }
  words = text_without_secrets(words.empty() ? place : words);
  return terminal_safe(words.substr(0, kMostWords));  // a character that is cut is '?'
}

std::vector<std::string> words_of(const Command& command) {
  std::vector<std::string> out{"/usr/bin/env", "-u", library_trial::kMarker};
  out.insert(out.end(), command.argv.begin(), command.argv.end());
  return out;
}

class Job {
 public:
  Job(const Command& command, double seconds)
      : process_(words_of(command), command.environment, out_.path(), err_.path()),
        seconds_(seconds),
        until_(monotonic_seconds() + seconds) {}

  // How it ended; nothing while it runs.
  std::optional<LaunchedEnd> poll() {
    const std::optional<ProcessEnd> end = process_.poll();
    const bool is_late = monotonic_seconds() >= until_, is_flood = floods();
    if (is_flood) {
      out_.end_growth();
      err_.end_growth();
    }
    if (!why_ended_.empty()) return end || is_late ? std::optional(told(why_ended_)) : std::nullopt;
    if (end) return of(*end);
    if (is_late)
      ask_to_end(said("doctor.job_late", seconds_));
    else if (is_flood)
      ask_to_end(said("doctor.job_floods", kMostOutput >> 20));
    return std::nullopt;
  }

  // Once; it is told as `why`.
  void ask_to_end(const Said& why) {
    if (!why_ended_.empty()) return;
    why_ended_ = why;
    process_.signal_group(SIGTERM);
    until_ = monotonic_seconds() + kEndSeconds;
  }

 private:
  LaunchedEnd of(const ProcessEnd& end) const {
    if (end.signalled) return told(said("doctor.job_killed", end.code));
    if (end.code == 0) return {.out = out_.text(), .code = 0};
    LaunchedEnd out = told(said("doctor.job_exit", end.code));
    out.code = end.code;
    return out;
  }
  LaunchedEnd told(const Said& how) const {
    const std::string words = first_words(err_.text());
    return {.out = out_.text(), .how = words.empty() ? how : said("doctor.job_says", how, words)};
  }

  bool floods() const { return std::max(out_.size(), err_.size()) > kMostOutput; }

  MemoryFile out_, err_;
  Process process_;
  double seconds_, until_;
  Said why_ended_;  // why it was asked to end; empty if it was not
};

// Signal handlers can reach only a global.
volatile std::sig_atomic_t g_stop_signal = 0;

// As long as this object lives, a signal that asks this process to end is only remembered. One that
// is ignored stays ignored.
class KeptStopSignals {
 public:
  KeptStopSignals() {
    g_stop_signal = 0;
    struct sigaction action {};
    action.sa_handler = [](int signal) { g_stop_signal = signal; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction& before = before_[signal];
      ::sigaction(signal, nullptr, &before);
      if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
    }
  }
  ~KeptStopSignals() {
    for (const auto& [signal, before] : before_) ::sigaction(signal, &before, nullptr);
  }
  KeptStopSignals(const KeptStopSignals&) = delete;
  KeptStopSignals& operator=(const KeptStopSignals&) = delete;

  static bool any() { return g_stop_signal != 0; }

 private:
  std::map<int, struct sigaction> before_;
};

class Jobs {
 public:
  explicit Jobs(size_t count) : ends_(count) {}

  void start(size_t which, const Command& command, double seconds) {
    try {
      running_.try_emplace(which, command, seconds);
    } catch (const Error& e) {  // no process can be started here
      ends_[which].how = e.said();
    }
  }
  void look() {
    for (auto job = running_.begin(); job != running_.end();) {
      std::optional<LaunchedEnd> end = job->second.poll();
      if (end) ends_[job->first] = std::move(*end);
      job = end ? running_.erase(job) : std::next(job);
    }
  }
  void ask_all_to_end() {
    for (auto& [which, job] : running_) job.ask_to_end(said("doctor.job_killed", SIGTERM));
  }
  size_t running() const { return running_.size(); }
  std::vector<LaunchedEnd> ends() && { return std::move(ends_); }

 private:
  std::map<size_t, Job> running_;
  std::vector<LaunchedEnd> ends_;
};

std::vector<LaunchedEnd> ends_of(const std::vector<Command>& commands, double deadline_seconds) {
  const KeptStopSignals stops;
  Jobs jobs(commands.size());
  for (size_t next = 0; next < commands.size() || jobs.running() > 0; jobs.look()) {
    if (KeptStopSignals::any()) {
      next = commands.size();
      jobs.ask_all_to_end();
    }
    for (; next < commands.size() && jobs.running() < kAtOnce; ++next)
      jobs.start(next, commands[next], deadline_seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::move(jobs).ends();
}

}  // namespace

std::vector<LaunchedEnd> run_launched(const std::vector<Command>& commands,
                                      double deadline_seconds) {
  std::signal(SIGCHLD, SIG_DFL);  // a library may have made this process ignore it
  std::vector<LaunchedEnd> out = ends_of(commands, deadline_seconds);
  if (KeptStopSignals::any()) std::raise(g_stop_signal);  // its own handler is back
  return out;
}

}  // namespace cb
