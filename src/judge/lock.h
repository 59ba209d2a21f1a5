#pragma once

#include <string>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// Returns, as JSON, a profile that requires of every host what these hosts are: models, counts and
// sizes, and firmware, drivers and libraries at least as new as the oldest of them by
// natural_compare(). With `serials` it also lists every piece by its serial number. What a host
// could not tell is not required, and is added to `left_out`. `day`: YYYY-MM-DD of the source.
std::string locked_profile(const std::vector<HostInventory>& hosts, const std::string& name,
                           bool serials, const std::string& day,
                           std::vector<std::string>& left_out);

}  // namespace cb
