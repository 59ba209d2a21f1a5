#pragma once

#include <string>

#include "campaign/run.h"

namespace cb {

// Runs the proofs of run --prove and prints one line per step. Returns false if interrupted.
bool prove_steps(const RunSetup& setup);

// What --dry-run prints of the proofs: the commands, how long they take, and where no fault can be
// planted.
std::string proof_commands(const RunSetup& setup);

}  // namespace cb
