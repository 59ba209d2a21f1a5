#pragma once

#include <cstddef>
#include <functional>

namespace cb {

// How many calls on_all_processors() makes at a time from this thread: one for each CPU that the
// thread may run on, at most eight.
size_t calls_at_a_time();

// Calls f(0) … f(count - 1) on all processors that this thread may run on, at most eight, in any
// order, and returns after the last call. After the first exception no further call begins, and
// that exception is rethrown. A thread that cannot be created is done without.
void on_all_processors(size_t count, const std::function<void(size_t)>& f);

// The same while this thread runs `own`, and helps afterwards. One other thread at least begins at
// once, also on one processor: `own` may wait for a device.
void on_other_processors(const std::function<void()>& own, size_t count,
                         const std::function<void(size_t)>& f);

}  // namespace cb
