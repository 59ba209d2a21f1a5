#pragma once

#include <optional>
#include <string>

// What only system calls tell. None of them needs root.
namespace cb::inventory {

// Firmware version as the driver of this network interface gives it (ETHTOOL_GDRVINFO).
std::optional<std::string> ethernet_firmware(const std::string& interface);

struct Space {
  int64_t size_bytes = 0;
  int64_t free_bytes = 0;  // for users without special rights
};
// Of the file system mounted there. Not for network file systems: the call hangs with their server.
std::optional<Space> space_of(const std::string& mount_point);

struct ClockState {
  bool synchronised = false;
  double max_error_seconds = 0;        // the kernel's bound on the distance from true time
  double estimated_error_seconds = 0;  // as the time daemon set it
};
// As the kernel knows it from the time daemon (adjtimex); no daemon is asked.
std::optional<ClockState> clock_state();

}  // namespace cb::inventory
