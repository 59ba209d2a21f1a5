#pragma once

#include <vector>

#include "core/profile.h"
#include "core/result.h"
#include "judge/finding.h"

namespace cb {

struct SpreadEvidence {
  std::vector<Finding> findings;  // one for each host, kind of part and limit
  std::vector<Gap> gaps;          // hosts with a single part: it has nothing to differ from
};

// Compares the parts of one kind within each host of this record.
SpreadEvidence spread_of_hosts(const Record& record, const MetricRule& rule);

}  // namespace cb
