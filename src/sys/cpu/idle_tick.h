// Whether an idle processor stops its timer tick.
#pragma once

#include <optional>

#include "sys/os/fs_root.h"

namespace cb {

// The kernel stops the tick of a processor when it becomes idle and restarts it when the idle time
// ends, unless the idle governor expects that end before the next tick
// (Documentation/admin-guide/pm/cpuidle.rst). A virtual machine often has no governor that could
// expect anything: no cpuidle driver, or haltpoll that does not poll. Each wait for a device then
// sets the timer twice, which costs microseconds if a hypervisor keeps the timer. A timer that ends
// before the next tick leaves the tick running.
//
// Returns the seconds between two ticks if every idle moment stops them. Nothing if a governor
// decides, or if this is not known.
std::optional<double> tick_that_idle_stops(const FsRoot& fs);

}  // namespace cb
