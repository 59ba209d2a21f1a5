#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace cb {

// The one line about a step that is done: the first metric of its last measured record at its worst
// entity with the spread of the median and its share of the ceiling, and the checks: "93.1 GFLOP/s
// ±0.6 %, 97 % of ceiling, 1 check, 0 wrong". Steps without a metric say on how many hosts they
// ran.
std::string headline(const std::vector<const Document*>& documents);

// Wrong checks in all records.
size_t failed_checks(const std::vector<const Document*>& documents);

}  // namespace cb
