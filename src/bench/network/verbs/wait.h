#pragma once

#include <sched.h>

#include <cstdint>

#include "bench/harness/cancel.h"
#include "core/clock.h"

namespace cb::verbs {

// What a polling loop does when it finds nothing. What comes soon must not find the poller in a
// system call, so a wait begins with polls alone; only a long one gives the processor away. On
// soft-RoCE, where the kernel does the transport's work on the same processors, it then does so
// again and again; a device does its work alone.
class Idle {
 public:
  Idle(double deadline_seconds, bool soft_device, const CancelToken& cancel)
      : end_(monotonic_seconds() + deadline_seconds),
        spin_(soft_device ? 2048 : 16384),
        rest_(soft_device ? 8 : spin_),
        look_(soft_device ? 4096 : 16384),
        cancel_(cancel) {}

  // When something has come, or a wait begins: for a while no processor is given away.
  void found() { yield_at_ = empty_ + spin_; }
  // After each empty poll. True every so often, waits short or long: time to look around, at
  // go_on() and at what the peer says.
  bool again() {
    if (++empty_ >= yield_at_) {
      ::sched_yield();
      yield_at_ = empty_ + rest_;
    }
    return (empty_ & (look_ - 1)) == 0;
  }
  // False past the deadline or when cancelled.
  bool go_on() const { return !cancel_.cancelled() && monotonic_seconds() < end_; }
  double left() const { return end_ - monotonic_seconds(); }
  bool cancelled() const { return cancel_.cancelled(); }

 private:
  double end_;
  uint64_t spin_;  // empty polls in a row before the first yield
  uint64_t rest_;  // and before each further one
  uint64_t look_;  // a power of two
  uint64_t empty_ = 0;
  uint64_t yield_at_ = spin_;
  const CancelToken& cancel_;
};

}  // namespace cb::verbs
