#pragma once

#include <vector>

#include "judge/campaign_data.h"
#include "judge/finding.h"
#include "judge/verdict_hosts.h"

namespace cb {

// All that the campaign says about one criterion.
struct Evidence {
  std::vector<Finding> findings;
  std::vector<Gap> gaps;
  size_t checks = 0;  // number of checks seen, for a check criterion
};

// `interruptions_judged`: a criterion counts the soak's cycles that ended badly
// (counts_interruptions()), so that they are no gaps here.
Evidence gather_evidence(const Campaign& campaign, const HostNames& names,
                         const Criterion& criterion, bool interruptions_judged = false);

}  // namespace cb
