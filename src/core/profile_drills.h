// Criteria on drills: faults that were made on purpose in a campaign (docs/methods/drill.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/catalogue.h"

namespace cb {

// A criterion names a drill in the place of a step, as "drill:cut-link". No step's id has a ':'.
std::string drill_step(std::string_view drill);
bool is_drill_step(std::string_view step);

// The drills that a profile can ask for, and what the record of one has.
const std::vector<std::string>& known_drills();
const CaseInfo& drill_info();

}  // namespace cb
