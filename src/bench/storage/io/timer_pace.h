// When the timer that keeps the kernel's tick pays (sys/cpu/idle_tick.h).
#pragma once

#include <cstdint>

namespace cb::io {

// A timer costs a wake-up, a stopped tick costs each request: it runs only while requests come back
// often, which a slow disk's do not.
class TimerPace {
 public:
  // A timer is worth that many requests.
  static constexpr uint64_t kMin = 8;

  explicit TimerPace(double timer_seconds) : seconds_(timer_seconds) {}

  // While no timer runs, of `finished` requests in all: whether to begin one now.
  bool begin(uint64_t finished, double now) {
    if (finished - mark_ < kMin) return false;
    const bool often = now - since_ <= seconds_;
    count_from(finished, now);
    return often;
  }

  // When a timer has ended: whether to begin the next.
  bool go_on(uint64_t finished, double now) {
    const bool often = finished - mark_ >= kMin;
    count_from(finished, now);
    return often;
  }

 private:
  void count_from(uint64_t finished, double now) {
    mark_ = finished;
    since_ = now;
  }

  double seconds_;
  uint64_t mark_ = 0;  // requests at since_
  double since_ = 0;
};

}  // namespace cb::io
