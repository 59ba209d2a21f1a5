#pragma once

#include <sched.h>

#include <cstdint>

#include "bench/harness/cancel.h"
#include "core/clock.h"

namespace cb::verbs {

// What a polling loop does when it finds nothing. A message that comes soon must not find the
// poller in a system call, so a wait begins with polls alone; only a long wait gives the processor
// away. On soft-RoCE the kernel does the transport's work on the same processors, so the loop then
// yields again and again. A device does its work alone.
class Idle {
 public:
  Idle(double deadline_seconds, bool soft_device, const CancelToken& cancel)
      : end_(monotonic_seconds() + deadline_seconds),
        spin_(soft_device ? 2048 : 16384),
        rest_(soft_device ? 8 : spin_),
        look_(soft_device ? 4096 : 16384),
        cancel_(cancel) {}

  // Called when something has come or a wait begins: no processor is given away for a while.
  void found() { yield_at_ = empty_ + spin_; }
  // Called after each empty poll. Returns true every now and then, in short and long waits: the
  // caller should then check go_on() and the peer's messages.
  bool again() {
    if (++empty_ >= yield_at_) {
      ::sched_yield();
      yield_at_ = empty_ + rest_;
    }
    return (empty_ & (look_ - 1)) == 0;
  }
  // False past the deadline or if cancelled.
  bool go_on() const { return !cancel_.cancelled() && monotonic_seconds() < end_; }
  double left() const { return end_ - monotonic_seconds(); }
  bool cancelled() const { return cancel_.cancelled(); }

 private:
  double end_;
  uint64_t spin_;  // empty polls in a row before the first yield
  uint64_t rest_;  // empty polls before each further yield
  uint64_t look_;  // empty polls between two looks around; a power of two
  uint64_t empty_ = 0;
  uint64_t yield_at_ = spin_;
  const CancelToken& cancel_;
};

}  // namespace cb::verbs
