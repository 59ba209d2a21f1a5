#pragma once

#include <string>
#include <vector>

#include "judge/env_sweep.h"

namespace cb {

// One combination of a sweep as the chart names it.
struct SweepRow {
  std::string name;    // "Ring LL128"
  std::string reason;  // why it gave no figures; empty if it did
};

// A page of its own. A heat map shows, per combination and point, how much of the leading figure it
// reaches. A table holds the figures; it marks only those that are best beyond noise. `points` come
// from rank_sweep() and are named by `point_names`; row r is combination r.
std::string sweep_page(const std::string& title, const std::vector<SweepRow>& rows,
                       const std::vector<SweepPoint>& points,
                       const std::vector<std::string>& point_names, const MetricDef& metric);

}  // namespace cb
