#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/catalogue.h"
#include "core/profile.h"

namespace cb {

// Says why no measurement in that unit can miss the limit, as an English sentence without a
// subject; nothing if one can.
std::optional<std::string> cannot_be_missed(double limit, bool is_minimum, const std::string& unit);

// Reports limits of the rule that nothing can miss, or that mean nothing for the metric.
void validate_limits(const MetricRule& rule, const MetricDef& def, const std::string& where,
                     Problems& problems);

// True if this need is about the number of hosts, not about a host's parts.
inline bool counts_hosts(std::string_view need) {
  return need == "hosts" || need == "hosts_at_most";
}

// Merges both; if both name a number, the stricter one wins.
Requirements merge_needs(Requirements a, const Requirements& b);

// Reports needs that no host meets, because they would switch their criterion off.
void validate_needs(const Requirements& needs, const std::string& where, Problems& problems);

}  // namespace cb
