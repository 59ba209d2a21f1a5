#pragma once

#include <memory>
#include <vector>

#include "judge/verdict.h"
#include "judge/verdict_evidence.h"
#include "judge/verdict_hosts.h"

namespace cb {

// A step is judged beyond its criteria: a failed check, a job that is not done, a record that was
// not measured and a host without a record count, even if no criterion asks for them.

// Returns the criterion "step:ID", which stands for this in the judgement of one step.
Criterion step_criterion(const Profile& profile, const Step& step);

struct StepJudging {
  bool only_wrong_data = false;  // the profile does not ask for the step: only failed checks count
  // A criterion counts the soak's cycles that ended badly: they are no gaps here.
  bool interruptions_judged = false;
};

// Returns failures and gaps of the step that none of its criteria says; `criteria` gives their
// verdicts.
Evidence step_evidence(const Campaign& campaign, const HostNames& names, const Step& step,
                       const std::vector<CriterionVerdict>& criteria, const StepJudging& how);

}  // namespace cb
