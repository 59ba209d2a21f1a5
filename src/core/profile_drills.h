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
// "cut-link" of "drill:cut-link"; empty for a step.
std::string_view drill_of_step(std::string_view step);

// The drills that a profile can ask for.
const std::vector<std::string>& known_drills();
// True of a fault during which the measurement must go on: there is nothing to detect.
bool must_survive(std::string_view drill);
// The case that the record of a drill names, and the metrics and checks that this drill's has.
constexpr const char* kDrillCase = "drill";
CaseInfo drill_info(std::string_view drill);

}  // namespace cb
