#pragma once

#include <string>
#include <vector>

#include "judge/verdict.h"

namespace cb {

// A case for testing clusterbench itself measures nothing of a machine. Every command that
// validates, runs, judges or reports a profile refuses one that runs such a case, unless the user's
// own environment sets CLUSTERBENCH_TEST_CASES=1. The verdict then says that it is one of a test
// profile.

// Adds a problem for each step that runs such a case.
void refuse_test_cases(const Profile& profile, Problems& problems);

// Like judge(). Throws UsageError if the profile, or the campaign's own, runs such a case.
Judgement judge_campaign(const Campaign& campaign, const Profile& profile,
                         const std::vector<Waiver>& waivers, const std::string& today);

}  // namespace cb
