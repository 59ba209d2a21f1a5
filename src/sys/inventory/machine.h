#pragma once

#include <optional>
#include <string>

// Facts that only system calls give. None of them needs root.
namespace cb::inventory {

// Returns the firmware version that the driver of this network interface states (ETHTOOL_GDRVINFO).
std::optional<std::string> ethernet_firmware(const std::string& interface);

struct Space {
  int64_t size_bytes = 0;
  int64_t free_bytes = 0;  // free for users without special rights
};
// Returns the space of the file system mounted there. Do not call it for a network file system: it
// would hang with its server.
std::optional<Space> space_of(const std::string& mount_point);

struct ClockState {
  bool synchronised = false;
  double max_error_seconds = 0;        // the kernel's bound on the distance from true time
  double estimated_error_seconds = 0;  // as the time daemon set it in the kernel
};
// Returns the state that the kernel knows from the time daemon (adjtimex). Asks no daemon.
std::optional<ClockState> clock_state();

}  // namespace cb::inventory
