#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/plan.h"
#include "core/catalogue.h"

namespace cb {

// The slots of each host of a campaign, by its name.
using SlotsOfHosts = std::map<std::string, int>;
SlotsOfHosts slots_of_hosts(const CampaignFile& campaign);

// What a record must fit: the job that it stands for.
struct JobClaim {
  const CampaignFile& campaign;
  const SlotsOfHosts& slots;
  const JobKey& key;
  const Step& step;          // the step as the job had to run it
  const CaseInfo* info;      // the step's case; null if this clusterbench does not know it
  const std::string record;  // path of the job's document, relative to the directory
  const JobEvent* start;     // the journal's start of the attempt; null if the journal has none
  const ToolInfo& tool;      // the clusterbench that ran the job
  // Of a pair or a group: who has or had its places. Else empty.
  std::vector<std::string> members = {};
};

// Compares the document with what the job's step asks for: case, parameters, units, ranks,
// launcher, hosts, and the journal's command and fingerprint. Returns the first difference, or
// nothing if it fits. If the journal has no links (an older clusterbench), its command is not
// compared.
std::optional<Said> misfit(const JobClaim& claim, const Document& document);

}  // namespace cb
