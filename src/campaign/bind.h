#pragma once

#include <optional>
#include <string>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/plan.h"

namespace cb {

// What binds a record to the job that it stands for.
struct JobClaim {
  const CampaignFile& campaign;
  const JobKey& key;
  const Step& step;          // as the job was to run it
  const std::string record;  // where its document goes, relative to the directory
  const JobEvent* start;     // of the attempt, by the journal; null if the journal has none
  const ToolInfo& tool;      // that ran the job
};

// How the document differs from what the job's step asks for: case, parameters, ranks, launcher,
// hosts, and the command and fingerprint that the journal has. Nothing if it fits. The command of a
// journal without links (an older clusterbench) is not looked at.
std::optional<Said> misfit(const JobClaim& claim, const Document& document);

}  // namespace cb
