#include "sys/inventory/machine.h"

#include <cstring>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

namespace cb::inventory {

std::optional<std::string> ethernet_firmware(const std::string& interface) {
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name) return std::nullopt;
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  request.ifr_data = reinterpret_cast<char*>(&info);
  const int rc = ::ioctl(fd, SIOCETHTOOL, &request);
  ::close(fd);
  if (rc != 0) return std::nullopt;
  const std::string text(info.fw_version, ::strnlen(info.fw_version, sizeof info.fw_version));
  return text == "N/A" ? std::nullopt : std::optional(text);
}

std::optional<Space> space_of(const std::string& mount_point) {
  struct statvfs state {};
  if (::statvfs(mount_point.c_str(), &state) != 0) return std::nullopt;
  const auto unit = static_cast<int64_t>(state.f_frsize);
  return Space{static_cast<int64_t>(state.f_blocks) * unit,
               static_cast<int64_t>(state.f_bavail) * unit};
}

std::optional<ClockState> clock_state() {
  timex state{};  // modes = 0: adjtimex() only reads
  const int rc = ::adjtimex(&state);
  if (rc < 0) return std::nullopt;
  return ClockState{rc != TIME_ERROR && (state.status & STA_UNSYNC) == 0,
                    static_cast<double>(state.maxerror) * 1e-6,
                    static_cast<double>(state.esterror) * 1e-6};
}

}  // namespace cb::inventory
