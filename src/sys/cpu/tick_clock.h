// A clock for loops that read the time at every request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/messages/said.h"
#include "sys/cpu/ticks.h"
#include "sys/os/fs_root.h"

namespace cb {

// The processor's counter and CLOCK_MONOTONIC_RAW, read at almost the same moment.
struct ClockReading {
  uint64_t ticks = 0;
  double seconds = 0;
  double uncertainty = 0;  // the two readings are at most this many seconds apart
};

// Reads the counter between two readings of the clock, several times, and returns the closest pair.
ClockReading read_clocks();

// The length of a tick between two readings, in seconds, and its possible error as a share: the sum
// of both uncertainties over the time between. Nothing if no time or no tick has passed.
struct TickLength {
  double seconds = 0;
  double uncertainty = 0;
};
std::optional<TickLength> tick_length(const ClockReading& from, const ClockReading& to);

// Says why the assumed length of a tick, `assumed` seconds, contradicts the two readings: the ticks
// differ from the clock by more than 0.1 % plus the readings' own uncertainty. Nothing if it fits.
std::optional<std::string> why_wrong_scale(double assumed, const ClockReading& from,
                                           const ClockReading& to);

// Seconds since construction, the same for all threads. Reads the processor's counter if the kernel
// keeps its own time by it, which it does only while the counter ticks evenly and equally on all
// cores; else CLOCK_MONOTONIC. The constructor measures the length of a tick against
// CLOCK_MONOTONIC_RAW, which time servers do not slew. That takes 10 ms to 100 ms, until the length
// is known within 10 ppm; if that cannot be reached, the clock uses CLOCK_MONOTONIC. The counter is
// read without a fence: a reading may be some nanoseconds early, or before an earlier reading of
// another core. To time nanoseconds, order the reads by other means, such as a system call.
class TickClock {
 public:
  explicit TickClock(const FsRoot& fs);
  // Counts from `start` in ticks of that length; in CLOCK_MONOTONIC if the length is 0.
  TickClock(const ClockReading& start, const TickLength& tick) : start_(start), tick_(tick) {}

  double now() const {
    if (tick_.seconds == 0) return monotonic_seconds() - start_seconds_;
    return static_cast<double>(static_cast<int64_t>(ticks_now() - start_.ticks)) * tick_.seconds;
  }

  // "processor's counter, its scale within 4.0 ppm of CLOCK_MONOTONIC_RAW", or "CLOCK_MONOTONIC":
  // goes into a record's facts.
  Said how() const;
  // Compares the whole time since construction with CLOCK_MONOTONIC_RAW. Throws Error if the
  // counter deviated: no time measured with it means anything then.
  void check() const;

 private:
  ClockReading start_;
  double start_seconds_ = monotonic_seconds();  // start on CLOCK_MONOTONIC, if tick_ is 0
  TickLength tick_;
};

}  // namespace cb
