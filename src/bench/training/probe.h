#pragma once

#include <functional>

#include "bench/training/backend.h"

namespace cb::training {

// The mean of a call's seconds: a step adds calls, and a mean of them is what adds up. Where all
// calls together are shorter than a few turns of an operating system, one interruption would
// outweigh them: then the median. The first call is not counted. `before` makes its inputs and is
// not timed. A device's queue is waited for after each.
double seconds_of(Backend<float>& backend, const std::function<void()>& before,
                  const std::function<void()>& call);

}  // namespace cb::training
