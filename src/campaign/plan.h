#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/launcher.h"
#include "core/profile.h"
#include "core/result.h"

namespace cb {

// One job of a campaign, by its place in the profile.
struct JobKey {
  size_t step = 0;   // index into Profile::steps
  std::string host;  // empty for a step across several hosts
  // The stem of its files, unique in the campaign: "003-gemm", "003-gemm@node7", in cycle 12 of a
  // soak "003-gemm~0012@node7", of a pair "004-tcp@pair-001-002". No step id and no host name
  // contains '~'.
  std::string name;
  size_t cycle = 0;  // of the soak, from 1; 0: not part of it
  // PlaceGroup::name and what belongs to it, for the scopes pairs, groups and rails.
  std::string group = {};
  std::vector<size_t> places = {};
  size_t turn = 0;
  std::optional<int> rail = {};

  // The host, the name of the group, or empty for all hosts.
  const std::string& label() const { return host.empty() ? group : host; }
};

// A step runs at most this number of jobs on pairs, groups or rails, all cycles counted.
inline constexpr size_t kMaxGroupJobs = 20000;

// What runs at once: a step, and in a soak one cycle of it.
struct StepRound {
  size_t step = 0;  // index into Profile::steps
  // From 1; 0: the step is not part of a soak. One more than it has cycles: the last reading.
  size_t cycle = 0;
  bool operator==(const StepRound&) const = default;
};

// All rounds in the order in which they run: the steps of a soak one after the other, cycle by
// cycle, and then once more those that read what happened (is_reading()).
std::vector<StepRound> plan_rounds(const Profile& profile);

// All jobs, in the order of rounds, then turns, then hosts. Throws UsageError if a step's id cannot
// be part of a file name, or if a step has more than kMaxGroupJobs. `has_spares`: names always have
// the host's, as others may step in. `places`: number of hosts that take part at once, if `hosts`
// has spares that have stepped in; 0: all.
std::vector<JobKey> plan_jobs(const Profile& profile, const std::vector<std::string>& hosts,
                              bool has_spares = false, size_t places = 0);

// What one round of a step costs on that number of hosts.
struct StepCost {
  size_t jobs = 0;
  size_t turns = 0;         // one after the other
  size_t side_by_side = 0;  // number of jobs that run at once, at most
  // The longest that the round can take, if each job uses up its deadline, the grace after it and
  // its retries. Repetitions on another set of hosts are not in it.
  double longest_seconds = 0;
};
StepCost step_cost(const Step& step, size_t hosts, size_t fan_out);

// The sum of that over all rounds; a soak's cycle but the last one takes `every` at least.
double longest_seconds(const Profile& profile, size_t hosts, size_t fan_out);

// The variables of the step, and what makes its measurement say that it has started.
std::map<std::string, std::string> step_environment(const Step& step);

// The parts of a job's command.
struct JobProgram {
  std::string binary;             // path of this program
  std::filesystem::path scratch;  // passed as --dir if the case needs a directory
  std::filesystem::path record;   // passed as --json
  bool redact = false;            // record no values of command line and environment
  std::string token = {};         // passed as --return (campaign/way_back.h)
};

// The measuring command line of a step, without launcher. The catalogue tells flags from values.
std::vector<std::string> step_arguments(const Step& step, const CaseInfo& info,
                                        const JobProgram& program);

// A digest of what a done job's result depends on: the command (without the campaign directory's
// own paths), the tool and the profile. If it changes, the job is repeated.
std::string fingerprint(const Command& command, const ToolInfo& tool,
                        const std::string& profile_sha256);

}  // namespace cb
