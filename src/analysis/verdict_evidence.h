#pragma once

#include <vector>

#include "analysis/campaign_data.h"
#include "analysis/finding.h"
#include "analysis/verdict_hosts.h"

namespace cb {

// All that the campaign says about one criterion.
struct Evidence {
  std::vector<Finding> findings;
  std::vector<Gap> gaps;
  size_t checks = 0;  // seen, for a check criterion
};

Evidence gather_evidence(const Campaign& campaign, const HostNames& names,
                         const Criterion& criterion);

}  // namespace cb
