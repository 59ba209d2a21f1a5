#pragma once

#include "bench/collectives/nccl/comms.h"
#include "core/params.h"

namespace cb::nccl {

// What the params of `nccl` ask for that the library is too old for, with the version needed.
void check_library(const Library& library, const Params& params, Problems& problems);

// How the params of `nccl` want the communicators.
CommOptions comm_options(const Params& params);

}  // namespace cb::nccl
