#pragma once

#include "analysis/campaign_data.h"
#include "campaign/directory.h"

namespace cb {

// Adds what people wrote into the campaign's directory: issues, checklist results and signatures.
// What of it cannot be read is a warning.
void load_acceptance(const CampaignPaths& paths, Campaign& campaign);

}  // namespace cb
