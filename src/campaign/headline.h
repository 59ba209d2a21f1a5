#pragma once

#include <string>
#include <vector>

#include "core/profile.h"
#include "core/result.h"

namespace cb {

// The one line about a step that is done: a metric at its worst entity with the spread of the
// median and its share of the ceiling, and the checks: "93.1 GFLOP/s ±0.6 %, 97 % of ceiling, 1
// check, 0 wrong". The metric is the first that the profile judges there, in the last record where
// it does; else the first of the last measured record. Steps without a metric say on how many hosts
// they ran.
std::string headline(const std::vector<const Document*>& documents,
                     const std::vector<MetricRule>& judged = {});

// What the profile asks of a step's metrics, in its order.
std::vector<MetricRule> metric_rules(const Profile& profile, const std::string& step);

// Wrong checks in all records.
size_t failed_checks(const std::vector<const Document*>& documents);

}  // namespace cb
