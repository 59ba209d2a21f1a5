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

// `clusterbench sweep` repeats the same measurement with each combination of environment variables,
// several times. Each run is a job of its own, so one that fails or hangs costs only itself.
namespace cb {

// A variable and the values to try. The value "inherit" leaves the variable as this shell has it.
struct SweepVariable {
  std::string name;
  std::vector<std::string> values;
};
inline constexpr const char* kInherit = "inherit";

// Parses texts like "NCCL_ALGO=Ring,Tree". Problems: no name, no value, a name or a value twice,
// more than kMaxCombinations in all.
constexpr size_t kMaxCombinations = 1000;
std::vector<SweepVariable> parse_variables(const std::vector<std::string>& texts,
                                           Problems& problems);

// All combinations, with one value per variable. The last variable changes fastest.
std::vector<std::vector<std::string>> combinations(const std::vector<SweepVariable>& variables);

// One job: a combination in a block. Every combination runs once in each block. The control is the
// first combination once more in the block: it shows how much noise there is.
struct SweepJob {
  size_t combination = 0;
  size_t block = 0;
  bool control = false;

  bool operator==(const SweepJob&) const = default;
};

// The jobs, block after block. The seed draws each block's order, the same on every machine. A
// single combination or a single block has no control.
std::vector<SweepJob> sweep_jobs(size_t combinations, size_t repeats, uint64_t seed);

struct SweepSetup {
  std::filesystem::path directory;  // must exist and be empty
  std::string binary;
  std::vector<std::string> arguments;  // the case and its options
  std::vector<SweepVariable> variables;
  LaunchSetup launch;
  std::vector<HostSlots> hosts;
  int ranks_per_host = 0;         // 0: one rank per slot of each host
  double deadline_seconds = 600;  // for each job
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
  bool refused = false;  // its command line was wrong, and so are all others
};

// The command of one combination. It writes its document to `json`. `token`: campaign/way_back.h.
Command sweep_command(const SweepSetup& setup, const std::vector<std::string>& values,
                      const std::filesystem::path& json, const std::string& token = {});

// Runs the jobs one after the other. Writes NNN.json, NNN.out and NNN.err of each and, at the end,
// sweep.json: variables, repeats, seed, and values, block, state and reason of every job. A refused
// command ends the sweep; the jobs not run are missing. Calls `ended` for each job.
std::vector<SweepOutcome> run_sweep(const SweepSetup& setup,
                                    const std::function<void(size_t, const SweepOutcome&)>& ended);

}  // namespace cb
