#pragma once

#include <memory>
#include <vector>

#include "judge/verdict.h"
#include "judge/verdict_evidence.h"
#include "judge/verdict_hosts.h"

namespace cb {

// A step is judged beyond its criteria: a failed check, a job that is not done, a record that was
// not measured and a host without a record count, whatever is asked of its figures.

// The criterion that stands for this in the judgement of one step, "step:ID".
Criterion step_criterion(const Profile& profile, const Step& step);

// What speaks against the step and is said by none of its criteria, whose verdicts are given.
// `only_wrong_data`: the profile does not ask for the step, but what it found stays wrong.
Evidence step_evidence(const Campaign& campaign, const HostNames& names, const Step& step,
                       const std::vector<CriterionVerdict>& criteria, bool only_wrong_data);

}  // namespace cb
