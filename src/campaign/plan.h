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
  std::string name;  // "003-gemm", "003-gemm@node7": the stem of its files, unique in the campaign
};

// Every job, in the order of steps, then hosts. Throws UsageError if the id of a step cannot be
// part of a file name.
std::vector<JobKey> plan_jobs(const Profile& profile, const std::vector<std::string>& hosts);

// What a job's command is made of.
struct JobProgram {
  std::string binary;             // this program
  std::filesystem::path scratch;  // given as --dir where the case needs a directory
  std::filesystem::path record;   // given as --json
  bool redact = false;            // no values of command line and environment are recorded
};

// The measuring command line of a step, without launcher. The catalogue tells flags from values.
std::vector<std::string> step_arguments(const Step& step, const CaseInfo& info,
                                        const JobProgram& program);

// What must be the same for a job that is done not to be repeated: the command (with the campaign
// directory's own paths left out), the tool and the profile.
std::string fingerprint(const Command& command, const ToolInfo& tool,
                        const std::string& profile_sha256);

}  // namespace cb
