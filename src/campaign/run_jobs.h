#pragma once

#include <vector>

#include "campaign/run_state.h"

namespace cb {

// Starts the jobs with these indices, journals their starts and ends, and gives their documents
// their names. They run at once, as far as the fan-out allows.
void run_jobs(RunState& state, std::vector<JobOutcome>& outcomes, const std::vector<size_t>& todo);

}  // namespace cb
