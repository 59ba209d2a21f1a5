#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "campaign/executor.h"
#include "core/result.h"
#include "judge/campaign_data.h"

// `clusterbench sweep`: the same measurement with each combination of environment variables,
// several times, each as a job of its own, so that one that fails or hangs costs itself alone.
namespace cb {

// A variable and the values to try. The value "inherit" leaves the variable as this shell has it.
struct SweepVariable {
  std::string name;
  std::vector<std::string> values;
};
inline constexpr const char* kInherit = "inherit";

// "NCCL_ALGO=Ring,Tree" each. Problems: no name, no value, a name or a value twice, more than
// kMaxCombinations in all.
constexpr size_t kMaxCombinations = 1000;
std::vector<SweepVariable> parse_variables(const std::vector<std::string>& texts,
                                           Problems& problems);

// All combinations, the last variable's values changing fastest; one value per variable.
std::vector<std::vector<std::string>> combinations(const std::vector<SweepVariable>& variables);

// One job: a combination in one of the blocks, in each of which every combination runs once. The
// control is the first combination once more: what it differs by is noise.
struct SweepJob {
  size_t combination = 0;
  size_t block = 0;
  bool control = false;

  bool operator==(const SweepJob&) const = default;
};

// Block after block, each in an order of its own drawn with the seed: the same on every machine.
// One combination alone, or one block, has no control.
std::vector<SweepJob> sweep_jobs(size_t combinations, size_t repeats, uint64_t seed);

struct SweepSetup {
  std::filesystem::path directory;  // exists and is empty
  std::string binary;
  std::vector<std::string> arguments;  // the case and its options
  std::vector<SweepVariable> variables;
  LaunchSetup launch;
  std::vector<HostSlots> hosts;
  int ranks_per_host = 0;         // 0: as many as each host has slots
  double deadline_seconds = 600;  // of each job
  size_t repeats = 5;
  uint64_t seed = 1;
  ExecutorOptions executor = {};
};

struct SweepOutcome {
  SweepJob job;
  std::vector<std::string> values;
  JobState state = JobState::missing;
  Said reason = {};
  double seconds = 0;
  std::optional<Document> document = {};
  bool refused = false;  // its command line was wrong, as that of all others will be
};

// The command of one combination; its document goes to `json`.
Command sweep_command(const SweepSetup& setup, const std::vector<std::string>& values,
                      const std::filesystem::path& json);

// Runs every job, one after the other; writes NNN.json, NNN.out and NNN.err of each and, at the
// end, sweep.json: variables, repeats, seed, and of every job its values, block, state and reason.
// A refused command ends the sweep: those that were not run are missing. `ended` is told of each.
std::vector<SweepOutcome> run_sweep(const SweepSetup& setup,
                                    const std::function<void(size_t, const SweepOutcome&)>& ended);

}  // namespace cb
