// The commands of a campaign's jobs, and their fingerprints.
#include <fmt/format.h>

#include "campaign/rails.h"
#include "campaign/roster.h"
#include "campaign/run.h"
#include "core/error.h"
#include "core/file.h"

namespace cb {
namespace {

Command command_for(const RunSetup& setup, const Step& step, const std::vector<HostSlots>& hosts,
                    const JobProgram& program) {
  const CaseInfo* info = case_of(step, setup.catalogue);
  if (info == nullptr)
    throw UsageError("profile " + setup.campaign.profile.name,
                     fmt::format("steps[{}].case", step.id),
                     fmt::format("{} is not a case of this clusterbench", step.case_name));
  return launch_command(setup.campaign.launch, hosts, step.ranks_per_host, step_environment(step),
                        step_arguments(step, *info, program));
}

}  // namespace

Command step_command(const RunSetup& setup, const Step& step, const std::vector<HostSlots>& hosts,
                     const std::filesystem::path& record, const std::string& token) {
  return command_for(setup, step, hosts,
                     {setup.binary, setup.paths.scratch(), record, setup.campaign.redact, token});
}

Command job_command(const RunSetup& setup, const JobKey& key, const std::vector<HostSlots>& hosts,
                    const std::filesystem::path& record) {
  const Step& step = setup.campaign.profile.steps[key.step];
  if (!key.rail) return step_command(setup, step, hosts, record);
  return step_command(setup, step_on_rail(step, {.number = *key.rail}), hosts, record);
}

std::string step_fingerprint(const RunSetup& setup, const Step& step,
                             const std::vector<HostSlots>& hosts, const std::string& record) {
  const JobProgram placeless{"clusterbench", CampaignPaths{"DIR"}.scratch(), record,
                             setup.campaign.redact};
  return fingerprint(command_for(setup, step, hosts, placeless), setup.tool,
                     setup.campaign.profile.sha256);
}

Roster roster_so_far(const RunSetup& setup) {
  if (!std::filesystem::exists(setup.paths.journal()))
    return {setup.campaign.hosts, setup.campaign.spares};
  const ChainRoot root = chain_root(setup.campaign, read_file(setup.paths.campaign()));
  return read_roster(setup.campaign, read_journal(setup.paths.journal(), root));
}

}  // namespace cb
