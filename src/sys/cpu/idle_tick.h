// Whether a processor that waits for a moment gives up its timer tick.
#pragma once

#include <optional>

#include "sys/os/fs_root.h"

namespace cb {

// The kernel stops the tick of an idle processor and starts it again at the end, unless its idle
// governor expects the end before the next tick (Documentation/admin-guide/pm/cpuidle.rst). In a
// virtual machine there is often no governor to expect anything: no cpuidle driver, or haltpoll
// that does not poll. Each wait for a device then sets the timer twice, and where a hypervisor
// keeps it that costs microseconds; a timer that ends before the next tick leaves the tick alone.
//
// Seconds between two ticks where every idle moment stops them; nothing where a governor decides,
// and where it cannot be told.
std::optional<double> tick_that_idle_stops(const FsRoot& fs);

}  // namespace cb
