#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "campaign/launcher.h"
#include "core/profile.h"
#include "core/result.h"

namespace cb {

// One job of a campaign, by its place in the profile.
struct JobKey {
  size_t step = 0;   // index into Profile::steps
  std::string host;  // empty for a step of scope cluster
  // The stem of its files, unique in the campaign: "003-gemm", "003-gemm@node7", in cycle 12 of a
  // soak "003-gemm~0012@node7". No step id and no host name contains '~'.
  std::string name;
  size_t cycle = 0;  // of the soak, from 1; 0: not part of it
};

// What runs at once: a step, and in a soak one cycle of it.
struct Round {
  size_t step = 0;   // index into Profile::steps
  size_t cycle = 0;  // from 1; 0: the step is not part of a soak
  bool operator==(const Round&) const = default;
};

// All rounds in the order in which they run: the steps of a soak one after the other, cycle by
// cycle.
std::vector<Round> plan_rounds(const Profile& profile);

// All jobs, in the order of rounds, then hosts. Throws UsageError if a step's id cannot be part of
// a file name. `has_spares`: names always have the host's, as others may step in.
std::vector<JobKey> plan_jobs(const Profile& profile, const std::vector<std::string>& hosts,
                              bool has_spares = false);

// The longest that the jobs can take if each uses up its deadline and its retries: the jobs of one
// step run at once, as far as the fan-out allows.
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
