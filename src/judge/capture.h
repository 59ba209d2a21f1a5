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

// The profile that these campaigns would just pass, as JSON: the steps of the first, and of its
// metric criteria (of a step without one, its first metric) a limit on the worse side of the median
// of all entities of all campaigns, away from it by max(3 × 1.4826 × MAD, 3 %). Check and
// uniformity criteria are taken over. Every limit says in its source: measured, the median, the
// spread, how many entities and campaigns. Throws UsageError if the campaigns do not share their
// steps, or one is unfinished. Criteria whose limit rests on fewer than three figures are added to
// `thin`: a healthy machine misses such a limit by chance.
std::string captured_profile(const std::vector<KnownGood>& campaigns, const std::string& name,
                             std::vector<std::string>* thin = nullptr);

// What differs between two resolved profiles, one line each: "+ steps[x]", "- criteria[y]",
// "~ criteria[z].min: 3 → 4".
std::vector<std::string> profile_differences(const std::string& before, const std::string& after);

}  // namespace cb
