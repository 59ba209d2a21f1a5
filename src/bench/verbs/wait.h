#pragma once

#include <sched.h>

#include <string>

#include "bench/cancel.h"
#include "core/clock.h"

namespace cb::verbs {

// What a polling loop does when it finds nothing. Every so often it looks at the deadline; after
// many empty polls it also gives the processor away, because on soft-RoCE the kernel's own work for
// this transfer may be waiting for it. A processor of its own loses nothing by that.
class Idle {
 public:
  Idle(double deadline_seconds, const CancelToken& cancel)
      : end_(monotonic_seconds() + deadline_seconds), cancel_(cancel) {}

  void reset() { empty_ = 0; }
  // True when it is time to look at the clock and at what else may have happened.
  bool again() { return (++empty_ & (kLook - 1)) == 0; }
  // To be called when again() is true: gives the processor away. False past the deadline, which is
  // looked at now and then: reading the clock can cost more than a message takes.
  bool go_on() {
    ::sched_yield();
    if ((++looks_ & (kClock - 1)) != 0) return true;
    return !cancel_.cancelled() && monotonic_seconds() < end_;
  }
  double left() const { return end_ - monotonic_seconds(); }
  bool cancelled() const { return cancel_.cancelled(); }

 private:
  static constexpr unsigned kLook = 256, kClock = 64;
  unsigned empty_ = 0, looks_ = 0;
  double end_;
  const CancelToken& cancel_;
};

}  // namespace cb::verbs
