// Decides when the timer that keeps the kernel's tick pays (sys/cpu/idle_tick.h).
#pragma once

#include <cstdint>

namespace cb::io {

// A timer costs one wake-up; a stopped tick costs time on each request. So the timer runs only
// while requests come back often, which those of a slow disk do not.
class TimerPace {
 public:
  // A timer pays if at least this many requests come back while it runs.
  static constexpr uint64_t kMin = 8;

  explicit TimerPace(double timer_seconds) : seconds_(timer_seconds) {}

  // Asked while no timer runs: true if one should begin now. `finished` counts all requests so far.
  bool begin(uint64_t finished, double now) {
    if (finished - mark_ < kMin) return false;
    const bool often = now - since_ <= seconds_;
    count_from(finished, now);
    return often;
  }

  // Asked when a timer has ended: true if the next one should begin.
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
  uint64_t mark_ = 0;  // requests finished at since_
  double since_ = 0;
};

}  // namespace cb::io
