#pragma once

#include <string>
#include <vector>

#include "core/profile.h"
#include "core/result.h"

namespace cb {

// One line about a step that is done: a metric at its worst entity with the spread of the median
// and its share of the ceiling, then the checks: "93.1 GFLOP/s ±0.6 %, 97 % of ceiling, 1 check, 0
// wrong". The metric is the first that the profile judges there, in the last record that it judges;
// without one, the first metric of the last measured record. For a step without a metric the line
// says on how many hosts it ran.
std::string headline(const std::vector<const Document*>& documents,
                     const std::vector<MetricRule>& judged = {});

// The metric rules of the profile for this step, in its order.
std::vector<MetricRule> metric_rules(const Profile& profile, const std::string& step);

// Number of failed checks in all records.
size_t failed_checks(const std::vector<const Document*>& documents);

}  // namespace cb
