#pragma once

#include <filesystem>
#include <vector>

#include "campaign/files.h"
#include "campaign/signoff.h"

// Decides whether a person may sign like this. Each check adds every problem that it finds.
namespace cb {

// The open items, with the days that the request gives.
std::vector<OpenItem> dated_items(std::vector<OpenItem> open, const SignoffRequest& request);

void check_words(const SignoffRequest& request, Problems& problems);
void check_verdict(const SignoffRequest& request, const std::vector<OpenItem>& open,
                   Problems& problems);
// A person signs once. Only to replace a conditional acceptance or a rejection may the same person
// sign again, with another verdict.
void check_person(const SignoffRequest& request, const std::vector<Signoff>& earlier,
                  Problems& problems);
void check_campaign(const Campaign& campaign, const CampaignFiles& files,
                    const SignoffRequest& request, Problems& problems);

}  // namespace cb
