// Reads the settings of RoCE ports: DCB and routing rules by netlink, the rest from /sys and /proc.
#include "bench/network/roce/read_host.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "core/error.h"
#include "core/file.h"
#include "core/units.h"
#include "sys/net/ethtool.h"
#include "sys/net/lldp_listener.h"
#include "sys/net/netlink.h"
#include "sys/net/rdma_port.h"
#include "sys/net/verbs.h"

namespace cb::net {
namespace {

struct Ipv4Network {
  uint32_t address = 0;
  int bits = 0;
};
using NetworksOfPorts = std::map<std::string, Ipv4Network>;

// ---- answers of system calls, or of a captured tree ----

std::optional<std::string> captured(const FsRoot& fs, const std::string& name) {
  return fs.text("/netlink/" + name);
}

std::string ask_dcb(const std::string& port) {
  dcbmsg head{};
  head.dcb_family = AF_UNSPEC;
  head.cmd = DCB_CMD_IEEE_GET;
  std::string body(reinterpret_cast<const char*>(&head), sizeof head);
  body += netlink::attribute(DCB_ATTR_IFNAME, std::string_view(port.c_str(), port.size() + 1));
  return netlink::ask(RTM_GETDCB, body, false);
}

std::string ask_rules() {
  rtmsg head{};
  head.rtm_family = AF_INET;
  return netlink::ask(RTM_GETRULE, {reinterpret_cast<const char*>(&head), sizeof head}, true);
}

// The first address of each interface.
NetworksOfPorts own_networks() {
  NetworksOfPorts out;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return out;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr ||
        one->ifa_addr->sa_family != AF_INET)
      continue;
    sockaddr_in address{}, mask{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    std::memcpy(&mask, one->ifa_netmask, sizeof mask);
    out.try_emplace(one->ifa_name, Ipv4Network{ntohl(address.sin_addr.s_addr),
                                               std::popcount(ntohl(mask.sin_addr.s_addr))});
  }
  ::freeifaddrs(list);
  return out;
}

// "eth0 10.0.0.1/24" a line.
NetworksOfPorts captured_networks(const std::string& text) {
  NetworksOfPorts out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t space = line.find(' '), slash = line.find('/');
    if (space == std::string::npos || slash == std::string::npos || slash < space) continue;
    in_addr address{};
    const auto bits = parse_integer(line.substr(slash + 1));
    const std::string dotted = line.substr(space + 1, slash - space - 1);
    if (!bits || *bits < 0 || *bits > 32 || ::inet_pton(AF_INET, dotted.c_str(), &address) != 1)
      continue;
    out.try_emplace(line.substr(0, space),
                    Ipv4Network{ntohl(address.s_addr), static_cast<int>(*bits)});
  }
  return out;
}

// ---- one port ----

class PortReader {
 public:
  PortReader(const FsRoot& fs, const RdmaPort& port, const std::string& host)
      : fs_(fs), port_(port) {
    nic_.host = host;
    nic_.device = port.name();
    nic_.port_name = port.netdev;
    nic_.driver = port.driver;
  }

  RoceNic read(const NetworksOfPorts& networks) {
    read_dcb();
    read_trust();
    read_pause();
    read_congestion();
    read_mtu();
    read_classes();
    read_routing(networks);
    for (const RdmaGid& gid : port_.gids)
      nic_.gids.push_back({gid.index, gid.roce == RoceVersion::v2, gid.is_ipv4()});
    return std::move(nic_);
  }

 private:
  std::string of_interface(const std::string& file) const {
    return "/sys/class/net/" + port_.netdev + "/" + file;
  }
  std::optional<int> number(const std::string& path) const {
    const auto value = fs_.integer(path);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }
  void unread(std::initializer_list<const char*> kinds, const Said& why) {
    for (const char* kind : kinds) nic_.unread.try_emplace(kind, why);
  }

  void read_dcb() {
    const std::initializer_list<const char*> kinds{"pfc", "traffic", "ets", "pause", "switch_pfc"};
    try {
      const auto answer = fs_.is_machine() ? std::optional(ask_dcb(port_.netdev))
                                           : captured(fs_, port_.netdev + ".dcb");
      if (answer) nic_.dcb = decode_dcb(*answer);
      if (!nic_.dcb) unread(kinds, said("roce.no_dcb", port_.netdev));
    } catch (const Error& e) {
      unread(kinds, said("roce.dcb_failed", port_.netdev, e.said()));
    }
  }

  // The vendor's driver has a file; newer kernels a table; else mlx5 takes DSCP as soon as a rule
  // names one.
  void read_trust() {
    if (const auto text = fs_.text(of_interface("qos/trust"))) {
      nic_.trust = *text;
    } else if (nic_.dcb && !nic_.dcb->trusted.empty()) {
      nic_.trust = nic_.dcb->trusted.front() == kDscpSelector ? "dscp" : "pcp";
    } else if (nic_.dcb && port_.driver == "mlx5_core") {
      const bool by_dscp = std::ranges::any_of(
          nic_.dcb->rules, [](const DcbRule& r) { return r.selector == kDscpSelector; });
      nic_.trust = by_dscp ? "dscp" : "pcp";
    } else {
      unread({"trust", "traffic"}, said("roce.no_trust", port_.driver));
    }
  }

  void read_pause() {
    if (fs_.is_machine()) {
      if (const auto pause = interface_pause(port_.netdev))
        nic_.pause = {pause->receive, pause->send};
    } else if (const auto text = captured(fs_, port_.netdev + ".pause")) {
      nic_.pause = {text->find("rx 1") != std::string::npos,
                    text->find("tx 1") != std::string::npos};
    }
    if (!nic_.pause) unread({"pause"}, said("roce.no_pause", port_.netdev));
  }

  // Bits of the priorities for which /sys/class/net/X/ecn/POINT/enable/P is 1.
  std::optional<unsigned> enabled(const char* point) const {
    std::optional<unsigned> out;
    for (int p = 0; p < kPriorities; ++p) {
      const auto on = number(of_interface(fmt::format("ecn/{}/enable/{}", point, p)));
      if (on) out = out.value_or(0) | (*on != 0 ? 1U << p : 0U);
    }
    return out;
  }

  void read_congestion() {
    const auto notifies = enabled("roce_np"), reacts = enabled("roce_rp");
    if (notifies && reacts)
      nic_.ecn = RoceEcn{*notifies, *reacts};
    else
      unread({"ecn"}, said("roce.no_ecn", port_.netdev, port_.driver));
    nic_.cnp_dscp = number(of_interface("ecn/roce_np/cnp_dscp"));
    nic_.cnp_priority = number(of_interface("ecn/roce_np/cnp_802p_prio"));
    if (port_.pci_address && !nic_.cnp_dscp) {
      const std::string debug = "/sys/kernel/debug/mlx5/" + *port_.pci_address + "/cc_params/";
      nic_.cnp_dscp = number(debug + "np_cnp_dscp");
      nic_.cnp_priority = number(debug + "np_cnp_prio");
    }
    if (!nic_.cnp_dscp && !nic_.cnp_priority)
      unread({"cnp"}, said("roce.no_cnp", port_.netdev, port_.driver));
  }

  void read_mtu() {
    nic_.mtu_bytes = number(of_interface("mtu"));
    if (!nic_.mtu_bytes) unread({"mtu", "switch_mtu"}, said("roce.no_mtu", port_.netdev));
    if (!fs_.is_machine()) return;
    try {
      const verbs::ContextPtr device = verbs::open_device(port_.device);
      ibv_port_attr attributes{};
      if (ibv_query_port(device.get(), static_cast<uint8_t>(port_.port), &attributes) == 0)
        nic_.rdma_mtu_bytes = static_cast<int>(verbs::mtu_bytes(attributes.active_mtu));
    } catch (const Error&) {
      // Without libibverbs the Ethernet MTU alone is compared: RDMA derives its own from it.
    }
  }

  // "Global tclass=106" of the vendor's driver; rdma_cm's default in configfs.
  void read_classes() {
    const auto forced = fs_.text(
        fmt::format("/sys/class/infiniband/{}/tc/{}/traffic_class", port_.device, port_.port));
    const size_t at = forced ? forced->find("Global tclass=") : std::string::npos;
    if (at != std::string::npos) {
      const std::string rest = forced->substr(at + std::strlen("Global tclass="));
      const auto value = parse_integer(rest.substr(0, rest.find_first_not_of("0123456789")));
      if (value && *value >= 0 && *value < 256) nic_.forced_class = static_cast<int>(*value);
    }
    nic_.connection_tos = number(fmt::format(
        "/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", port_.device, port_.port));
  }

  // The kernel takes the larger of the interface's value and that of `all`.
  std::optional<int> larger(const std::string& name) const {
    const std::string base = "/proc/sys/net/ipv4/conf/";
    const auto own = number(base + port_.netdev + "/" + name), all = number(base + "all/" + name);
    return own ? std::optional(std::max(*own, all.value_or(0))) : std::nullopt;
  }

  void read_routing(const NetworksOfPorts& networks) {
    nic_.arp_ignore = larger("arp_ignore");
    nic_.arp_announce = larger("arp_announce");
    nic_.reverse_filter = larger("rp_filter");
    const auto found = networks.find(port_.netdev);
    if (found == networks.end()) return;
    nic_.address = found->second.address;
    nic_.prefix_bits = found->second.bits;
  }

  const FsRoot& fs_;
  const RdmaPort& port_;
  RoceNic nic_;
};

std::optional<int> number_of_variable(const char* name) {
  const char* text = std::getenv(name);
  const auto value = text == nullptr ? std::nullopt : parse_integer(text);
  return value && *value >= -1 && *value < 256 ? std::optional(static_cast<int>(*value))
                                               : std::nullopt;
}

void say_unheard(RoceNic& nic, const Said& why) {
  for (const char* kind : {"switch_mtu", "switch_pfc"}) nic.unread.try_emplace(kind, why);
}

void finish_hearing(RoceHost& host) {
  host.listened = true;
  for (RoceNic& nic : host.nics) {
    if (!nic.neighbour) say_unheard(nic, said("lldp.silent", nic.port_name));
  }
}

}  // namespace

RoceHost read_roce_host(const FsRoot& fs, const std::string& host) {
  RoceHost out{.host = host};
  const NetworksOfPorts networks =
      fs.is_machine() ? own_networks() : captured_networks(captured(fs, "addresses").value_or(""));
  for (const RdmaPort& port : rdma_ports(fs)) {
    if (port.ethernet() && port.active() && !port.netdev.empty())
      out.nics.push_back(PortReader(fs, port, host).read(networks));
  }
  try {
    const auto rules = fs.is_machine() ? std::optional(ask_rules()) : captured(fs, "rules");
    if (rules) out.rules = decode_rules(*rules);
  } catch (const Error& e) {
    for (RoceNic& nic : out.nics) nic.unread.try_emplace("source_rule", e.said());
  }
  out.nccl_class = number_of_variable("NCCL_IB_TC");
  out.nccl_gid = number_of_variable("NCCL_IB_GID_INDEX");
  return out;
}

void hear_neighbours(const FsRoot& fs, double seconds, const std::function<bool()>& stop,
                     RoceHost& host) {
  HeardFrames heard;
  std::vector<std::string> names;
  for (const RoceNic& nic : host.nics) names.push_back(nic.port_name);
  if (fs.is_machine()) {
    heard = hear_lldp(names, seconds, stop);
  } else {
    for (const std::string& name : names) {
      if (const auto frame = captured(fs, name + ".lldp")) heard.payload[name] = *frame;
    }
  }
  for (RoceNic& nic : host.nics) {
    const auto frame = heard.payload.find(nic.port_name);
    if (frame != heard.payload.end()) nic.neighbour = decode_lldp(frame->second);
    const auto why = heard.why_not.find(nic.port_name);
    if (!nic.neighbour && why != heard.why_not.end()) say_unheard(nic, why->second);
  }
  finish_hearing(host);
}

void read_neighbours(const std::string& file, RoceHost& host) {
  const auto neighbours = read_lldpd_json(read_file(file), file);
  for (RoceNic& nic : host.nics) {
    const auto found = neighbours.find(nic.port_name);
    if (found != neighbours.end()) nic.neighbour = found->second;
  }
  finish_hearing(host);
}

}  // namespace cb::net
