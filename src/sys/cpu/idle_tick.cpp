#include "sys/cpu/idle_tick.h"

#include <ctime>
#include <string>

namespace cb {
namespace {

// Returns the resolution of the coarse clock, which each tick advances.
double tick_seconds() {
  timespec t{};
  ::clock_getres(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

bool no_governor_decides(const FsRoot& fs) {
  const std::string idle = "/sys/devices/system/cpu/cpuidle/";
  if (fs.text(idle + "current_driver") == "none") return true;
  return fs.text(idle + "current_governor_ro") == "haltpoll" &&
         fs.integer("/sys/module/haltpoll/parameters/guest_halt_poll_ns") == 0;
}

}  // namespace

std::optional<double> tick_that_idle_stops(const FsRoot& fs) {
  if (!no_governor_decides(fs)) return std::nullopt;
  return tick_seconds();
}

}  // namespace cb
