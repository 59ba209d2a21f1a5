// The files of a campaign's directory against its manifest and its journal.
#pragma once

#include <map>
#include <string>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "judge/campaign_data.h"

namespace cb {

// Reads the manifest into the campaign, and warns of whatever is gone, differs or is not listed.
// `read`: the digests of the files that were read already.
void check_manifest(const CampaignPaths& paths, const std::map<std::string, std::string>& read,
                    const Journal& journal, Campaign& campaign);

// Warns of records and proofs that no journal line names.
void check_foreign(const CampaignPaths& paths, const std::map<std::string, std::string>& read,
                   const Journal& journal, Campaign& campaign);

}  // namespace cb
