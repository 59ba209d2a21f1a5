#pragma once

#include <filesystem>
#include <vector>

#include "campaign/files.h"
#include "campaign/signoff.h"

// Whether a person may sign like this: each function adds every problem that it finds.
namespace cb {

// What is open, with the days that the request gives.
std::vector<OpenItem> dated_items(std::vector<OpenItem> open, const SignoffRequest& request);

void check_words(const SignoffRequest& request, Problems& problems);
void check_verdict(const SignoffRequest& request, const std::vector<OpenItem>& open,
                   Problems& problems);
// A person signs once, and again only to replace a condition or a rejection by another word.
void check_person(const SignoffRequest& request, const std::vector<Signoff>& earlier,
                  Problems& problems);
void check_campaign(const Campaign& campaign, const CampaignFiles& files,
                    const SignoffRequest& request, Problems& problems);

}  // namespace cb
