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

#include <fmt/format.h>
#include <fmt/ranges.h>
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
  MemoryFile() : file_(::memfd_create("launched", MFD_CLOEXEC)) {
    if (file_.get() < 0) throw Error(fmt::format("no file in memory: {}", std::strerror(errno)));
  }
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
  const bool is_ruled = std::ranges::all_of(line, [](char c) { return c == '-' || c == '='; });
  return is_ruled || (line.starts_with("clusterbench") && line.ends_with(" problem"));
}

// A launcher that takes no argument repeats all of them.
std::string without_secrets(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return fmt::format("{}", fmt::join(arguments_without_secrets(words), " "));
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
    if (is_frame(line)) {
      if (!words.empty()) break;
    } else if (!line.starts_with('[')) {
      words += (words.empty() ? "" : " ") + line;
    } else if (place.empty()) {
      place = line;
    }
  }
  words = without_secrets(words.empty() ? place : words);
  return terminal_safe(words.substr(0, kMostWords));  // a character that is cut is '?'
}

Said end_of(const ProcessEnd& end) {
  return end.signalled ? said("doctor.job_killed", end.code) : said("doctor.job_exit", end.code);
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
    const bool is_late = monotonic_seconds() >= until_;
    if (!end && !is_late && (!why_ended_.empty() || !floods())) return std::nullopt;
    if (!why_ended_.empty()) return told(why_ended_);
    if (end && !end->signalled && end->code == 0)
      return LaunchedEnd{.out = out_.text(), .ok = true, .how = {}};
    if (end) return told(end_of(*end));
    why_ended_ =
        is_late ? said("doctor.job_late", seconds_) : said("doctor.job_floods", kMostOutput >> 20);
    process_.signal_group(SIGTERM);
    until_ = monotonic_seconds() + kEndSeconds;
    return std::nullopt;
  }

 private:
  LaunchedEnd told(const Said& how) const {
    const std::string words = first_words(err_.text());
    return {.out = out_.text(),
            .ok = false,
            .how = words.empty() ? how : said("doctor.job_says", how, words)};
  }

  bool floods() const { return std::max(out_.size(), err_.size()) > kMostOutput; }

  MemoryFile out_, err_;
  Process process_;
  double seconds_, until_;
  Said why_ended_;  // why it was asked to end; empty if it was not
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
  size_t running() const { return running_.size(); }
  std::vector<LaunchedEnd> ends() && { return std::move(ends_); }

 private:
  std::map<size_t, Job> running_;
  std::vector<LaunchedEnd> ends_;
};

}  // namespace

std::string document_in(const std::string& out) {
  std::istringstream lines(out);
  std::string document;
  size_t mark = 0;  // characters before what the rank wrote, as many in each line
  for (std::string line; std::getline(lines, line);) {
    if (document.empty()) {
      if (!line.ends_with('{')) continue;
      mark = line.size() - 1;
    }
    line.erase(0, mark);
    document += line + '\n';
    if (line == "}") return document;
  }
  return "";
}

std::vector<LaunchedEnd> run_launched(const std::vector<Command>& commands,
                                      double deadline_seconds) {
  std::signal(SIGCHLD, SIG_DFL);  // a library may have made this process ignore it
  Jobs jobs(commands.size());
  for (size_t next = 0; next < commands.size() || jobs.running() > 0; jobs.look()) {
    for (; next < commands.size() && jobs.running() < kAtOnce; ++next)
      jobs.start(next, commands[next], deadline_seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::move(jobs).ends();
}

}  // namespace cb
