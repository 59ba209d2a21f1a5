#pragma once

#include <string>

#include "campaign/run.h"

namespace cb {

// run --prove, on the terminal: a line a step. False if it was interrupted.
bool prove_steps(const RunSetup& setup);

// What --dry-run says of it: the commands, how long they take, and where no fault can be planted.
std::string proof_commands(const RunSetup& setup);

}  // namespace cb
