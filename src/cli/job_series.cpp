#include "cli/job_series.h"

#include <filesystem>
#include <iostream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/offers.h"
#include "cli/profile_source.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// The directory of the series, which must be empty or not exist yet.
fs::path series_directory(const std::string& out, const std::string& name, Problems& problems) {
  const std::string path = !out.empty() ? out
                                        : fmt::format("out/{:%Y%m%d-%H%M%S}-{}",
                                                      fmt::localtime(std::time(nullptr)), name);
  std::error_code failed;
  if (fs::exists(path, failed) && !(fs::is_directory(path, failed) && fs::is_empty(path, failed)))
    problems.add("--out", fmt::format("{} is not empty: name a fresh directory", path));
  return fs::absolute(path).lexically_normal();
}

}  // namespace

void add_series_options(CLI::App& command, SeriesOptions& options, const std::string& what,
                        const std::string& name) {
  command
      .add_option("--repeats", options.repeats,
                  fmt::format("how often {} runs: more show smaller differences [5]", what))
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command.add_option("--seed", options.seed, "draws the order within each repeat [1]")
      ->type_name("N");
  command.add_option("--deadline", options.deadline, "of each job [10m]")->type_name("TIME");
  command.add_option("--out", options.out, fmt::format("a fresh directory [out/<time>-{}]", name))
      ->type_name("DIR");
  offer(command.add_option("--launcher", options.launching.launcher,
                           "auto, mpirun, srun or none [auto]"),
        launcher_names())
      ->type_name("NAME");
  command.add_option("--hosts", options.launching.hosts, "hosts and their slots: a:2,b:2")
      ->type_name("LIST");
  command.add_option("--hostfile", options.launching.hostfile, "hosts as in an Open MPI hostfile")
      ->type_name("FILE");
  command.add_option("--ranks-per-host", options.ranks_per_host, "[as many as a host has slots]")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
}

SweepSetup series_setup(const SeriesOptions& options, const std::string& command,
                        const std::string& name, Problems problems) {
  SweepSetup setup;
  const auto deadline = parse_duration(options.deadline);
  if (!deadline || *deadline <= 0)
    problems.add("--deadline", options.deadline + " is not a duration such as 90s or 10m");
  setup.directory = series_directory(options.out, name, problems);
  if (!problems.empty()) throw UsageError(command, problems);
  setup.deadline_seconds = *deadline;
  setup.binary = startable_binary();
  Launching launching = choose_launching(options.launching);
  setup.launch = std::move(launching.setup);
  setup.hosts = std::move(launching.hosts);
  setup.ranks_per_host = options.ranks_per_host;
  setup.repeats = options.repeats;
  setup.seed = options.seed;
  // A single rank starts without a launcher.
  if (setup.launch.launcher == Launcher::none && setup.ranks_per_host == 0)
    setup.ranks_per_host = 1;
  if (const auto why = cannot_launch(setup.launch, setup.hosts, setup.ranks_per_host))
    throw UsageError(command, "--launcher", why->text());
  return setup;
}

std::vector<SweepRun> runs_of(const std::vector<SweepOutcome>& outcomes) {
  std::vector<SweepRun> runs;
  for (const SweepOutcome& o : outcomes)
    runs.push_back(
        {o.job.combination, o.job.block, o.job.control, o.document ? &*o.document : nullptr});
  return runs;
}

bool data_wrong(const Document& document) {
  for (const Record& record : document.records) {
    for (const Check& check : record.checks) {
      if (!check.passed && !check.finding) return true;
    }
  }
  return false;
}

void tell_ended(const std::string& place, const std::string& what, const SweepOutcome& outcome) {
  const bool done = outcome.state == JobState::done;
  std::cerr << terminal_safe(fmt::format("   {} {} {}{} {}{}", place, done ? "✓" : "✗", what,
                                         outcome.job.control ? " (A/A)" : "",
                                         format_seconds(outcome.seconds),
                                         done ? "" : "  " + outcome.reason.text()))
            << '\n';
}

void write_or_note(const fs::path& file, const std::string& text, std::vector<Said>& unwritten) {
  try {
    write_file_atomically(file, text);
  } catch (const Error& e) {
    unwritten.push_back(e.said());
  }
}

bool tell_unwritten(const std::vector<Said>& unwritten) {
  std::cout.flush();
  for (const Said& why : unwritten) std::cerr << "✗ " << terminal_safe(why.text()) << '\n';
  if (!unwritten.empty())
    std::cerr << "what is written above is all there is; next: keep it, make room, and measure "
                 "again\n";
  return !unwritten.empty();
}

}  // namespace cb
