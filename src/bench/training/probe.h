#pragma once

#include <functional>

namespace cb::training {

// The mean of a call's seconds: a step adds calls, and a mean of them is what adds up. Where all
// calls together are shorter than a few turns of an operating system, one interruption would
// outweigh them: then the median. The first call is not counted. `before` makes its inputs and is
// not timed.
double seconds_of(const std::function<void()>& before, const std::function<void()>& call);

}  // namespace cb::training
