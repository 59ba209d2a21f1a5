#pragma once

#include <cstddef>
#include <functional>

namespace cb {

// Calls f(0) … f(count - 1) on all processors, at most eight, in any order, and returns when all
// have returned. The first exception ends it and goes on from here; no further call begins then.
void on_all_processors(size_t count, const std::function<void(size_t)>& f);

}  // namespace cb
