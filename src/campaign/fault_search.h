#pragma once

#include "core/catalogue.h"
#include "core/profile.h"
#include "core/result.h"
#include "judge/campaign_data.h"

namespace cb {

// Stores in `proof` what the document of a job with a planted fault says of it; `step` is the step
// with the fault. Whoever makes a proof and whoever reads one judge by this alone.
//
// A point counts by the plan's checks: one that failed has found the fault. Where none did, but
// another check failed, as of a transfer that broke, the point shows nothing either way. Where the
// step has the fault in each point, each must have found it, and a point whose checks passed is
// blind; else one that found it is enough. Skipped points are not asked.
void search_fault(const Document& document, const Step& step, const FaultPlan& plan, Proof& proof);

}  // namespace cb
