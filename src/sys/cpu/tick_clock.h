// A clock for loops that ask for the time at every request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "sys/cpu/ticks.h"
#include "sys/os/fs_root.h"

namespace cb {

// The processor's counter and CLOCK_MONOTONIC_RAW at one moment.
struct ClockReading {
  uint64_t ticks = 0;
  double seconds = 0;
  double uncertainty = 0;  // seconds: the two are at most so far from one moment
};

// The closest of several attempts: the counter is read between two readings of the clock.
ClockReading read_clocks();

// What a tick lasts between two readings, and the share by which it may be wrong: the sum of both
// uncertainties over the time between. Nothing where no time or no tick has passed.
struct TickLength {
  double seconds = 0;
  double uncertainty = 0;
};
std::optional<TickLength> tick_length(const ClockReading& from, const ClockReading& to);

// Why a tick that was taken to last `assumed` seconds cannot have between the two readings: it is
// off by more than 0.1 % and what the readings themselves are uncertain by. Nothing if it fits.
std::optional<std::string> why_wrong_scale(double assumed, const ClockReading& from,
                                           const ClockReading& to);

// Seconds since construction, the same for all threads. The processor's counter where the kernel
// keeps its own time by it, which it does only as long as it ticks evenly and alike on all cores;
// else CLOCK_MONOTONIC. A tick's length is measured at construction against CLOCK_MONOTONIC_RAW,
// which time servers do not slew; that takes 10 ms to 100 ms, until it is known within 10 ppm; if
// that cannot be had, CLOCK_MONOTONIC serves too. The counter is read without a fence, so that a
// reading may be some nanoseconds early, or before one of another core that it came after: what is
// to be timed to the nanosecond has to be ordered by other means, as a system call does.
class TickClock {
 public:
  explicit TickClock(const FsRoot& fs);
  // From `start` on by ticks of that length; of none, by CLOCK_MONOTONIC.
  TickClock(const ClockReading& start, const TickLength& tick) : start_(start), tick_(tick) {}

  double now() const {
    if (tick_.seconds == 0) return monotonic_seconds() - start_seconds_;
    return static_cast<double>(static_cast<int64_t>(ticks_now() - start_.ticks)) * tick_.seconds;
  }

  // "processor's counter, its scale within 4.0 ppm of CLOCK_MONOTONIC_RAW", or "CLOCK_MONOTONIC":
  // for a record's facts.
  std::string how() const;
  // Compares the whole time since construction with CLOCK_MONOTONIC_RAW. Throws Error where the
  // counter went another way meanwhile: nothing that was timed by it means anything then.
  void check() const;

 private:
  ClockReading start_;
  double start_seconds_ = monotonic_seconds();  // for the clock that is asked where tick_ is 0
  TickLength tick_;
};

}  // namespace cb
