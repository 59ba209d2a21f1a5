#pragma once

#include <string>
#include <vector>

#include "judge/verdict.h"

namespace cb {

// A case for testing clusterbench itself measures nothing of a machine. A profile that runs one is
// refused, by whoever validates, runs, judges or reports it, unless that person's own environment
// says CLUSTERBENCH_TEST_CASES=1; the verdict then says that it is one of a test profile.

// Adds a problem for each such step.
void refuse_test_cases(const Profile& profile, Problems& problems);

// judge() for a user. Throws UsageError where the profile, or that of the campaign, runs such a
// case.
Judgement judge_campaign(const Campaign& campaign, const Profile& profile,
                         const std::vector<Waiver>& waivers, const std::string& today);

}  // namespace cb
