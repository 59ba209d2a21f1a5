#pragma once

#include "judge/campaign_data.h"

namespace cb {

// Adds a warning for records that do not fit their campaign. Either they were taken at another time
// than the journal gives for their job (clocks that differ, or another campaign's records), or they
// name another machine than the other records of the same host.
void check_records(Campaign& campaign);

}  // namespace cb
