#pragma once

#include <string>
#include <vector>

#include "judge/env_sweep.h"

namespace cb {

// One combination of a sweep as the chart names it.
struct SweepRow {
  std::string name;    // "Ring LL128"
  std::string reason;  // why it gave nothing; empty if it gave figures
};

// A page of its own: per combination and point how much of the leading one it reaches, as a heat
// map, and the figures as a table, in which only what is best beyond noise stands out. `points` are
// those of rank_sweep(), named by `point_names`; row r is combination r.
std::string sweep_page(const std::string& title, const std::vector<SweepRow>& rows,
                       const std::vector<SweepPoint>& points,
                       const std::vector<std::string>& point_names, const MetricDef& metric);

}  // namespace cb
