#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// Collective. Runs the case on every rank, catches what it throws (→ Errored with host and rank),
// agrees on the outcome and gathers. Rank 0 gets the joined records, others none. A need that is
// not met gives one skipped record. Where a rank throws, the records that the case had finished
// stay, with an errored one behind them. Interrupted passes through after the ranks agreed, on rank
// 0 with what all had finished, and the UsageErrors of any ranks become one on all of them; any
// other exception from here means that they could not agree.
std::vector<Record> run_case(const Case& c, Context& context, const Params& params);

}  // namespace cb
