#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "campaign/env_sweep.h"
#include "cli/run_cmd_setup.h"
#include "judge/env_sweep.h"

// What `sweep` and `compare-settings` have in common: interleaved jobs of one case, each with a
// deadline, whose documents lie in a fresh directory.
namespace cb {

struct SeriesOptions {
  std::string out;
  std::string deadline = "10m";
  int ranks_per_host = 0;
  size_t repeats = 5;
  uint64_t seed = 1;
  RunOptions launching;
};

// Adds --repeats, --seed, --deadline, --out, --launcher, --hosts, --hostfile and --ranks-per-host.
// `what` repeats ("each side"), `name` ends the directory's own name ("settings").
void add_series_options(CLI::App& command, SeriesOptions& options, const std::string& what,
                        const std::string& name);

// The setup but for case, arguments and variables. Earlier problems and its own are told together.
// Throws UsageError of `command`.
SweepSetup series_setup(const SeriesOptions& options, const std::string& command,
                        const std::string& name, Problems problems);

// The documents of the outcomes, which must outlive them.
std::vector<SweepRun> runs_of(const std::vector<SweepOutcome>& outcomes);

// Whether a check failed that is no mere finding.
bool data_wrong(const Document& document);

// One line of progress on stderr: "   3/12 ✓ NCCL_ALGO=Ring 4 s".
void tell_ended(const std::string& place, const std::string& what, const SweepOutcome& outcome);

// Writes the file; where that fails, adds the reason to `unwritten`: what was measured is shown all
// the same.
void write_or_note(const std::filesystem::path& file, const std::string& text,
                   std::vector<Said>& unwritten);

// Says on stderr what could not be written, and what to do. Returns whether there was something.
bool tell_unwritten(const std::vector<Said>& unwritten);

}  // namespace cb
