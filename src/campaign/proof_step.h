#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalogue.h"
#include "core/profile.h"

// Makes the short job with a planted fault of a step, for run --prove.
namespace cb {

struct JobKey;

// True for the jobs that --prove looks at: one cycle of a soak and one turn of pairs or groups, in
// which each host takes part, show what the check of all of them can see.
bool has_proof(const JobKey& key);

// The reason why no fault can be planted in the step; nothing if one can. The first of the case's
// Blind that the step has decides: one without a reason says that a check looks in any case.
std::optional<Said> why_no_fault(const Step& step, const CaseInfo& info);

// The step with a planted fault, shortened. A parameter is not shortened if the step's other
// parameters exclude it.
Step proof_step(const Step& step, const CaseInfo& info);

// About how long the proof takes: the job's start and all its points.
double proof_seconds(const Step& step, const CaseInfo& info);

// The parameters by which such a job of that case may differ from its step: the fault, what the
// case shortens, and what cases of earlier releases shortened. Null: a case that is not known.
std::vector<std::string> proof_params(const CaseInfo* info);

// The step that a proof's command line ran: the campaign's own step, with the values of
// proof_params() from the command line.
Step proved_step(const Step& step, const std::vector<std::string>& command, const CaseInfo* info);

}  // namespace cb
