#pragma once

#include <string>
#include <vector>

#include "judge/env_sweep.h"

namespace cb {

// Names a point by the parameters in which the points differ: "64M".
std::string point_text(const std::vector<SweepPoint>& points, const SweepPoint& point);

// "best", "no difference beyond noise", …
const char* sweep_verdict_text(SweepVerdict verdict);

// A sweep's result for a terminal, one row per point: the first combination, how far behind the
// second and the last are, and the smallest difference that the jobs could show. combinations[c]
// names combination c. Safe for a terminal.
std::string sweep_table(const std::vector<SweepPoint>& points,
                        const std::vector<std::string>& combinations, const MetricDef& metric);

}  // namespace cb
