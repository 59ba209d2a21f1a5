#pragma once

#include "judge/campaign_data.h"

namespace cb {

// Makes a campaign answer to another profile than the one that it ran. If a step of `profile` asks
// for another case, parameter, scope, number of ranks or environment than the step of the same id
// that ran, its jobs count as not run, with the difference as the reason. Omitted parameters have
// the case's default.
void require_same_steps(Campaign& campaign, const Profile& profile, const Catalogue& catalogue);

}  // namespace cb
