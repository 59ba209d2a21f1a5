#pragma once

#include "bench/collectives/nccl/comms.h"
#include "core/params.h"

namespace cb::nccl {

// Adds a problem for each param of `nccl` that needs a newer library, with the version.
void check_library(const Library& library, const Params& params, Problems& problems);

// The communicators that the params of `nccl` ask for.
CommOptions comm_options(const Params& params);

}  // namespace cb::nccl
