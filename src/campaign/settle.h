#pragma once

#include <string>

#include "campaign/run_state.h"

namespace cb {

// Looks whether a job has to run. Returns true if not, and then says in `outcome` how it stands: it
// is done, not applicable, cannot be started, or a host of it is left out.
bool settle(RunState& state, JobOutcome& outcome);

// The fingerprint that the job would have if it ran now.
std::string wanted_fingerprint(const RunState& state, const JobKey& key);

}  // namespace cb
