#pragma once

#include <string>
#include <vector>

#include "campaign/bind.h"
#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/plan.h"
#include "core/catalogue.h"
#include "judge/campaign_data.h"

namespace cb {

// Where proofs are read from.
struct ProofSource {
  const CampaignPaths& paths;
  const CampaignFile& file;
  const Journal& journal;
  const Catalogue& catalogue;
  SlotsOfHosts slots = slots_of_hosts(file);
};

// One for every job that is done, `keys` and `jobs` being alike in order. A proof is shown only by
// the document that was journaled, of the job's own step but for the fault and its length, in which
// the check that was journaled failed, and which search_fault() finds to show the fault: a point
// that an earlier program did not ask for is not taken on its word.
std::vector<Proof> load_proofs(const ProofSource& source, const std::vector<JobKey>& keys,
                               const std::vector<Job>& jobs);

// Files in proofs/ that the journal does not know, in order.
std::vector<std::string> foreign_proofs(const CampaignPaths& paths, const Journal& journal);

}  // namespace cb
