#pragma once

#include "judge/campaign_data.h"

namespace cb {

// Adds a warning where records do not fit the campaign that they lie in: taken at another time than
// the journal says that their job ran (clocks that differ, or another campaign's records), or
// naming another machine than the other records of the same host.
void check_records(Campaign& campaign);

}  // namespace cb
