#pragma once

#include <algorithm>

#include "sys/cpu/ticks.h"

namespace cb::test {

// The least processor time of the calling thread, in seconds, of `times` calls of `work`. Not wall
// time: other tests run beside this one.
template <typename Work>
double least_busy_seconds(int times, Work&& work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const double start = thread_busy_seconds();
    work();
    best = std::min(best, thread_busy_seconds() - start);
  }
  return best;
}

}  // namespace cb::test
