#pragma once

#include <string>
#include <vector>

#include "campaign/directory.h"

namespace cb {

// A campaign says what is executed: on which hosts, with which arguments of the launcher, with
// which variables and commands. Throws UsageError that shows these if `trusted` is false and the
// campaign was not begun here by this user. "Begun here" means: its campaign.json belongs to this
// user and was last changed within a minute of the campaign's begin (a copy is younger), and its
// launcher's arguments are none or those of this environment.
void require_trust(const CampaignFile& file, const CampaignPaths& paths,
                   const std::vector<std::string>& own_arguments, bool trusted);

}  // namespace cb
