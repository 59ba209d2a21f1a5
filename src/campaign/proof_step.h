#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalogue.h"
#include "core/profile.h"

// The short job with a planted fault that is made of a step: run --prove.
namespace cb {

// Why no fault can be planted in the step; nothing if one can.
std::optional<Said> why_no_fault(const Step& step, const CaseInfo& info);

// The step with a planted fault, and short: what its other parameters exclude is left as it is.
Step proof_step(const Step& step, const CaseInfo& info);

// What it takes, about: all points of the job and its start.
double proof_seconds(const Step& step, const CaseInfo& info);

// The parameters by which such a job may differ from its step.
const std::vector<std::string>& proof_params();

// The step that this command line of a proof ran: the campaign's own, with the parameters that may
// differ as they stand there.
Step proved_step(const Step& step, const std::vector<std::string>& command);

}  // namespace cb
