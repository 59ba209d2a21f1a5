#pragma once

#include <cstddef>
#include <functional>

namespace cb {

// Calls f(0) … f(count - 1) on all processors, at most eight, in any order, and returns after the
// last call. After the first exception no further call begins, and that exception is rethrown.
void on_all_processors(size_t count, const std::function<void(size_t)>& f);

}  // namespace cb
