#pragma once

#include "analysis/campaign_data.h"

namespace cb {

// Adds a warning where records say that they were taken at another time than the journal says that
// their job ran: clocks that differ between hosts, or the records of another campaign.
void check_times(Campaign& campaign);

}  // namespace cb
