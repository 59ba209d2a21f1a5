#pragma once

#include <span>

#include "bench/collectives/nccl/call.h"

namespace cb::nccl {

// The calls of several communicators at the same time, each on a stream of its own: `times` calls
// of each back to back. seconds[i] is how long one of calls[i] took, from the common beginning
// until its devices were done with the last. All calls go into one group of the library, so that
// every rank launches them in the same order. Returns when they began, in seconds of the monotonic
// clock.
double run_together(std::span<NcclCall* const> calls, int times, std::span<double> seconds);

}  // namespace cb::nccl
