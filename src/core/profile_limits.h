#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/catalogue.h"
#include "core/profile.h"

namespace cb {

// Why no measurement of that unit can miss the limit, as an English sentence without a subject;
// nothing where one can.
std::optional<std::string> cannot_be_missed(double limit, bool is_minimum, const std::string& unit);

// Limits of the rule that nothing can miss, or that mean nothing for the metric.
void validate_limits(const MetricRule& rule, const MetricDef& def, const std::string& where,
                     Problems& problems);

// Whether this need is one of the number of hosts, not of a host's parts.
inline bool counts_hosts(std::string_view need) {
  return need == "hosts" || need == "hosts_at_most";
}

// Both together: the stricter number where both name one.
Requirements merge_needs(Requirements a, const Requirements& b);

// Needs that no host meets would switch their criterion off.
void validate_needs(const Requirements& needs, const std::string& where, Problems& problems);

}  // namespace cb
