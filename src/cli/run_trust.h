#pragma once

#include <string>
#include <vector>

#include "campaign/directory.h"

namespace cb {

// A campaign says what is executed: on which hosts, with which arguments of the launcher, with
// which variables and commands. Throws UsageError that shows these where the campaign was not begun
// here by this user and `trusted` is false. Begun here means: its campaign.json belongs to this
// user, was last changed in the minute in which the campaign began (a copy is younger), and its
// launcher's arguments are those of this environment, or it has none.
void require_trust(const CampaignFile& file, const CampaignPaths& paths,
                   const std::vector<std::string>& own_arguments, bool trusted);

}  // namespace cb
