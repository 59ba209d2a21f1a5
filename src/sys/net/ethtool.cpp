#include "sys/net/ethtool.h"

#include <cstring>
#include <vector>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cb {
namespace {

class Request {
 public:
  explicit Request(const std::string& interface)
      : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::strncpy(request_.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  }
  ~Request() {
    if (socket_ >= 0) ::close(socket_);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  bool ask(void* command) {
    request_.ifr_data = static_cast<char*>(command);
    return socket_ >= 0 && ::ioctl(socket_, SIOCETHTOOL, &request_) == 0;
  }

 private:
  int socket_;
  ifreq request_{};
};

}  // namespace

std::map<std::string, double> interface_statistics(const std::string& interface) {
  Request request(interface);
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!request.ask(&info) || info.n_stats == 0 || info.n_stats > 65536) return {};
  const size_t count = info.n_stats;
  std::vector<char> names(sizeof(ethtool_gstrings) + count * ETH_GSTRING_LEN);
  auto* strings = reinterpret_cast<ethtool_gstrings*>(names.data());
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = info.n_stats;
  std::vector<uint64_t> values(sizeof(ethtool_stats) / sizeof(uint64_t) + count);
  auto* stats = reinterpret_cast<ethtool_stats*>(values.data());
  stats->cmd = ETHTOOL_GSTATS;
  stats->n_stats = info.n_stats;
  if (!request.ask(strings) || !request.ask(stats)) return {};
  std::map<std::string, double> out;
  for (size_t i = 0; i < count; ++i) {
    const char* name = names.data() + sizeof(ethtool_gstrings) + i * ETH_GSTRING_LEN;
    out[std::string(name, ::strnlen(name, ETH_GSTRING_LEN))] =
        static_cast<double>(values[sizeof(ethtool_stats) / sizeof(uint64_t) + i]);
  }
  return out;
}

std::optional<InterfacePause> interface_pause(const std::string& interface) {
  Request request(interface);
  ethtool_pauseparam pause{};
  pause.cmd = ETHTOOL_GPAUSEPARAM;
  if (!request.ask(&pause)) return std::nullopt;
  return InterfacePause{pause.rx_pause != 0, pause.tx_pause != 0};
}

}  // namespace cb
