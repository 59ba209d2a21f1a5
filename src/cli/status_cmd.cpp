// `clusterbench status DIR`: how far a campaign is, from any terminal. Reads only.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "campaign/run_progress.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/progress_text.h"
#include "cli/stop_signals.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

struct StatusOptions {
  std::string directory;
  std::string prometheus;
  bool prometheus_given = false;
  double watch_seconds = 0;
};

// The process that holds the campaign's lock, by the kernel's list of locks; nothing if none does
// on this host. A lock that is tried would disturb a run that begins at that moment.
std::optional<std::string> lock_holder(const CampaignPaths& paths) {
  struct stat info {};
  if (::stat(paths.campaign().c_str(), &info) != 0) return std::nullopt;
  const std::string place =
      fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string number, type, kind, access, process, where, rest;
       locks >> number >> type >> kind >> access >> process >> where &&
       std::getline(locks, rest);) {
    if (type == "FLOCK" && where == place) return process;
  }
  return std::nullopt;
}

std::string state_line(const CampaignProgress& p, const std::optional<std::string>& holder,
                       int64_t now) {
  if (!p.finished.empty() && !holder) return "finished";
  if (holder) return "running, process " + *holder;
  const auto last = seconds_since_epoch(p.last_event);
  return fmt::format("no run of this host works in it{}",
                     last ? fmt::format("; the last event was {} ago",
                                        format_seconds(static_cast<double>(now - *last)))
                          : "");
}

// A journal that cannot be read whole tells less than there was.
std::string doubt_lines(const CampaignProgress& p) {
  std::string out;
  for (const Said& doubt : p.warnings)
    out +=
        fmt::format("? evidence  not as it was left by the run: {}\n", terminal_safe(doubt.text()));
  return out;
}

void show(const StatusOptions& options, bool clear) {
  const CampaignPaths paths{options.directory};
  const auto now = static_cast<int64_t>(std::time(nullptr));
  const CampaignProgress progress = read_progress(paths, now);
  const auto holder = lock_holder(paths);
  if (!options.prometheus.empty()) {
    const std::string text = progress_metrics(progress, holder.has_value(), now);
    return write_file_atomically(options.prometheus, text, Durable::no);
  }
  std::cout << (clear ? "\033[H\033[2J" : "")
            << fmt::format("{} on {} host{}: {}\n", terminal_safe(progress.profile), progress.hosts,
                           progress.hosts == 1 ? "" : "s", state_line(progress, holder, now))
            << doubt_lines(progress) << progress_table(progress) << std::flush;
}

void refuse_options(const StatusOptions& options) {
  if (options.prometheus_given && options.prometheus.empty())
    throw UsageError("clusterbench status", "--prom", "names no file");
  if (!std::isfinite(options.watch_seconds))
    throw UsageError("clusterbench status", "--watch", "is not a number of seconds");
  refuse_writing_over_evidence(options.directory, {options.prometheus});
}

ExitCode status(const StatusOptions& options) {
  refuse_options(options);
  if (options.watch_seconds <= 0) {
    show(options, false);
    return ExitCode::ok;
  }
  catch_stop_signals();
  const bool clear = options.prometheus.empty() && ::isatty(STDOUT_FILENO) == 1;
  while (stop_signals() == 0) {
    show(options, clear);
    const double until = monotonic_seconds() + options.watch_seconds;
    while (stop_signals() == 0 && monotonic_seconds() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return ExitCode::interrupted;
}

}  // namespace

void add_status_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("status", "how far a campaign is, also while it runs");
  const auto options = std::make_shared<StatusOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Reads the journal and the documents, also unfinished ones, and writes nothing in the "
      "directory.\nExample:\n  clusterbench status out/acceptance --watch 5");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  sub->add_option("--watch", options->watch_seconds, "show it again every so many seconds")
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("SECONDS");
  sub->add_option("--prom", options->prometheus,
                  "write it as Prometheus text instead, for the textfile collector")
      ->type_name("FILE");
  sub->callback([&action, options, sub] {
    options->prometheus_given = sub->count("--prom") > 0;
    action = [options] { return status(*options); };
  });
}

}  // namespace cb
