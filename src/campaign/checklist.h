#pragma once

#include <vector>

#include "analysis/issues.h"
#include "campaign/directory.h"
#include "core/profile.h"

// checklist.jsonl: the results of the profile's manual items, one a line, never taken back; the
// last one of an item counts.
namespace cb {

// In the order in which they were given. Throws UsageError if the file is broken.
std::vector<ChecklistResult> read_checklist(const CampaignPaths& paths);

// Appends a result. Throws UsageError with every problem: an item that the profile lacks (with the
// nearest), an unknown result, nobody's name, no day, a day after `today` (YYYY-MM-DD).
void set_checklist(const CampaignPaths& paths, const Profile& profile,
                   const ChecklistResult& result, const std::string& today);

}  // namespace cb
