#pragma once

#include <vector>

#include "core/profile.h"
#include "core/result.h"
#include "judge/finding.h"

namespace cb {

struct SpreadEvidence {
  std::vector<Finding> findings;  // one for each host, kind of part and limit
  std::vector<Gap> gaps;          // hosts with a single part, which has nothing to differ from
};

// The parts of one kind of each host in this record against one another.
SpreadEvidence spread_of_hosts(const Record& record, const MetricRule& rule);

}  // namespace cb
