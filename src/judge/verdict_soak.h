// What a soak says about a criterion on the soak as a whole.
#pragma once

#include "core/profile_soak.h"
#include "judge/verdict_evidence.h"

namespace cb {

Evidence soak_evidence(const Campaign& campaign, const HostNames& names, const Criterion& criterion,
                       const SoakRule& rule);

// True if the job is a cycle that the cluster ended badly and a criterion of the judging profile
// counts that: it is evidence then, and no gap. A cycle whose record is gone, was changed or is of
// something else is a gap, as is one that this program refused.
bool is_counted_interruption(const Job& job, bool interruptions_judged);

}  // namespace cb
