#pragma once

#include <string>
#include <vector>

#include "judge/env_sweep.h"

namespace cb {

// A point by the parameters in which the points differ: "64M".
std::string point_text(const std::vector<SweepPoint>& points, const SweepPoint& point);

// "best", "no difference beyond noise", …
const char* sweep_verdict_text(SweepVerdict verdict);

// A sweep's result on a terminal, one row per point: the first combination and how the second and
// the last compare, and from what difference on one is shown. combinations[c] names combination c.
// Safe for a terminal.
std::string sweep_table(const std::vector<SweepPoint>& points,
                        const std::vector<std::string>& combinations, const MetricDef& metric);

}  // namespace cb
