#include "sys/cpu/tick_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr int kReadings = 16;
constexpr double kWantedUncertainty = 10e-6;
constexpr double kMaxCalibration = 0.1;  // seconds
constexpr auto kCalibrationStep = std::chrono::milliseconds(10);
// The histogram's buckets are 0.4 % wide: a smaller error of the scale does no harm.
constexpr double kWorstScale = 1e-3;

bool kernel_trusts_ticks(const FsRoot& fs) {
  const auto source = fs.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return !kTickClockSource.empty() && source == kTickClockSource;
}

TickLength calibrate(const ClockReading& start) {
  for (double spent = 0; spent < kMaxCalibration;) {
    std::this_thread::sleep_for(kCalibrationStep);
    const ClockReading now = read_clocks();
    const auto tick = tick_length(start, now);
    if (tick && tick->uncertainty <= kWantedUncertainty) return *tick;
    spent = now.seconds - start.seconds;
  }
  return {};
}

}  // namespace

ClockReading read_clocks() {
  ClockReading best;
  for (int i = 0; i < kReadings; ++i) {
    const double before = raw_seconds();
    const uint64_t ticks = ticks_now();
    const double after = raw_seconds();
    const double uncertainty = (after - before) / 2;
    if (i == 0 || uncertainty < best.uncertainty) best = {ticks, before + uncertainty, uncertainty};
  }
  return best;
}

std::optional<TickLength> tick_length(const ClockReading& from, const ClockReading& to) {
  const double seconds = to.seconds - from.seconds;
  if (to.ticks <= from.ticks || !(seconds > 0)) return std::nullopt;
  return TickLength{seconds / static_cast<double>(to.ticks - from.ticks),
                    (from.uncertainty + to.uncertainty) / seconds};
}

std::optional<std::string> why_wrong_scale(double assumed, const ClockReading& from,
                                           const ClockReading& to) {
  const double by_clock = to.seconds - from.seconds;
  const double by_ticks =
      static_cast<double>(static_cast<int64_t>(to.ticks - from.ticks)) * assumed;
  const double room = kWorstScale * by_clock + from.uncertainty + to.uncertainty;
  if (std::abs(by_ticks - by_clock) <= room) return std::nullopt;
  return fmt::format(
      "the processor's counter says {:.6f} s where CLOCK_MONOTONIC_RAW says {:.6f} s", by_ticks,
      by_clock);
}

TickClock::TickClock(const FsRoot& fs) : start_(read_clocks()) {
  if (kernel_trusts_ticks(fs)) tick_ = calibrate(start_);
}

Said TickClock::how() const {
  if (tick_.seconds == 0) return Said("CLOCK_MONOTONIC");
  return said("clock.counter", fmt::format("{:.1f}", std::max(0.1, tick_.uncertainty * 1e6)));
}

void TickClock::check() const {
  if (tick_.seconds == 0) return;
  if (const auto why = why_wrong_scale(tick_.seconds, start_, read_clocks()))
    throw Error(*why +
                " over this run, so its times mean nothing; next: measure again (a machine that "
                "was suspended does that once), then look for clocksource in the kernel log "
                "(dmesg)");
}

}  // namespace cb
