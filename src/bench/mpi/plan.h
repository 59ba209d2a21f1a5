#pragma once

#include <vector>

#include "bench/mpi/point.h"

namespace cb {

// Every point asked for, ops outside and sizes inside. What cannot be done is added to `problems`:
// a size that leaves a rank without a block, a count beyond MPI's int, buffers of all ranks of this
// host beyond three quarters of its available memory, a fault for a rank that is not there.
// Sizes are those of groups of `ranks` ranks.
std::vector<CollectivePoint> plan_collectives(const Context& context, const Params& params,
                                              int ranks, Problems& problems);

}  // namespace cb
