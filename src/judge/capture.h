#pragma once

#include <string>
#include <vector>

#include "judge/measured.h"

namespace cb {

// One campaign of machines known to be good, with its figures.
struct KnownGood {
  const Campaign* campaign = nullptr;
  std::vector<MetricGroup> groups;
};

// Returns, as JSON, the profile that these campaigns would just pass. It has the steps of the first
// campaign and its metric criteria; a step without one gets a criterion for its first metric. Each
// limit lies on the worse side of the median of all entities of all campaigns, at a distance of
// max(3 × 1.4826 × MAD, 3 %). Check and uniformity criteria are taken over. Every limit's source
// says: measured, the median, the spread, how many entities and campaigns. Throws UsageError if the
// campaigns differ in their steps, or one is unfinished. `thin` receives the criteria whose limit
// rests on fewer than three figures: a healthy machine misses such a limit by chance.
std::string captured_profile(const std::vector<KnownGood>& campaigns, const std::string& name,
                             std::vector<std::string>* thin = nullptr);

// Returns the differences between two resolved profiles, one line each: "+ steps[x]", "-
// criteria[y]", "~ criteria[z].min: 3 → 4".
std::vector<std::string> profile_differences(const std::string& before, const std::string& after);

}  // namespace cb
