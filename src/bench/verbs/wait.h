#pragma once

#include <sched.h>

#include <string>

#include "bench/cancel.h"
#include "core/clock.h"

namespace cb::verbs {

// What a polling loop does when it finds nothing: every so often it gives the processor away, and
// more seldom it looks at the deadline. On soft-RoCE the kernel does the transport's work on the
// same processors, so there it waits for the poller unless that gives way at once; a device does
// its work alone, and a poll that yields would only be late.
class Idle {
 public:
  Idle(double deadline_seconds, bool soft_device, const CancelToken& cancel)
      : end_(monotonic_seconds() + deadline_seconds),
        yield_(soft_device ? 8 : 4096),
        look_(soft_device ? 512 : 65536),
        cancel_(cancel) {}

  // After each empty poll. True when it is time to look around: go_on(), and what the peer says.
  bool again() {
    if (++empty_ % yield_ != 0) return false;
    ::sched_yield();
    return empty_ % look_ == 0;
  }
  // False past the deadline or when cancelled.
  bool go_on() const { return !cancel_.cancelled() && monotonic_seconds() < end_; }
  double left() const { return end_ - monotonic_seconds(); }
  bool cancelled() const { return cancel_.cancelled(); }

 private:
  double end_;
  unsigned yield_, look_;
  unsigned empty_ = 0;
  const CancelToken& cancel_;
};

}  // namespace cb::verbs
