// Network interfaces and RDMA ports. No hardware addresses are recorded.
#include <fmt/format.h>

#include "core/units.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/machine.h"
#include "sys/inventory/pci.h"
#include "sys/inventory/vpd.h"

namespace cb::inventory {
namespace {

const std::string kNet = "/sys/class/net/";
const std::string kRdma = "/sys/class/infiniband/";

std::optional<std::string> interface_type(const FsRoot& fs, const std::string& dir) {
  // The numbers are those of Linux's if_arp.h.
  const auto type = fs.integer(dir + "type");
  if (type == 32) return "infiniband";
  if (fs.exists(dir + "bonding")) return "bond";
  if (fs.exists(dir + "bridge")) return "bridge";
  if (type == 1) return "ethernet";
  return type ? std::optional(fmt::format("arphrd {}", *type)) : std::nullopt;
}

void add_rate(const FsRoot& fs, const std::string& dir, Part& part) {
  const auto speed = fs.integer(dir + "speed");  // Mbit/s; -1 or unreadable if unknown
  if (speed && *speed > 0) {
    put_integer(part, "rate_bits_per_second", speed, 1'000'000);
    return;
  }
  const auto state = fs.text(dir + "operstate").value_or("unknown");
  part.unavailable["rate_bits_per_second"] =
      state == "up" ? said("inventory.driver_silent") : said("inventory.link_is", state);
}

Part nic_part(const FsRoot& fs, const std::string& name) {
  const std::string dir = kNet + name + "/";
  Part part{.kind = "nic", .id = name};
  part.attributes["virtual"] = !fs.exists(dir + "device");
  put_text(part, "type", interface_type(fs, dir));
  put_file(part, "state", fs, dir + "operstate");
  put_number_file(part, "mtu_bytes", fs, dir + "mtu");
  add_rate(fs, dir, part);
  const auto driver = fs.link_name(dir + "device/driver");
  put_text(part, "driver", driver);
  if (driver) put_file(part, "driver_version", fs, "/sys/module/" + *driver + "/version");
  if (const auto address = pci_address_of(fs, dir + "device")) {
    put_pci(part, fs, *address);
    put_vpd(part, fs, *address);
  }
  if (fs.is_machine() && fs.exists(dir + "device"))
    put_text(part, "firmware", ethernet_firmware(name));
  return part;
}

// A RoCE table has 256 entries and is filled from the front: after this many empty ones in a row
// the rest is skipped, so that eight devices take less than a millisecond.
constexpr int kEmptyGids = 8;

int64_t gid_count(const FsRoot& fs, const std::string& port) {
  int64_t count = 0;
  int empty = 0;
  for (const std::string& index : fs.entries(port + "gids")) {
    const auto gid = fs.text(port + "gids/" + index);
    const bool used = gid && gid->find_first_not_of("0:") != std::string::npos;
    count += used ? 1 : 0;
    empty = used ? 0 : empty + 1;
    if (empty == kEmptyGids) break;
  }
  return count;
}

// "4: ACTIVE" → "ACTIVE".
std::optional<std::string> behind_colon(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const size_t colon = text->find(':');
  return colon == std::string::npos ? *text : trimmed(std::string_view(*text).substr(colon + 1));
}

// "400 Gb/sec (4X NDR)". The rate of a port that is not active means nothing.
void add_port_rate(const FsRoot& fs, const std::string& port, Part& part) {
  const auto state = behind_colon(fs.text(port + "state"));
  put_text(part, "state", state);
  put_text(part, "physical_state", behind_colon(fs.text(port + "phys_state")));
  if (state != "ACTIVE") {
    part.unavailable["rate_bits_per_second"] = said("inventory.port_is", state.value_or("unknown"));
    return;
  }
  const auto rate = words(fs.text(port + "rate").value_or(""));
  const auto gigabits =
      rate.size() < 2 || rate[1] != "Gb/sec" ? std::nullopt : parse_number(rate[0]);
  if (gigabits && *gigabits > 0 && *gigabits < 1e6)
    part.attributes["rate_bits_per_second"] = static_cast<int64_t>(*gigabits * 1e9);
  if (rate.size() == 4)  // "(4X" "NDR)"
    part.attributes["link"] = rate[2].substr(1) + " " + rate[3].substr(0, rate[3].size() - 1);
}

std::optional<std::string> netdev(const FsRoot& fs, const std::string& device,
                                  const std::string& port) {
  if (const auto name = fs.text(port + "gid_attrs/ndevs/0")) return name;
  const auto names = fs.entries(kRdma + device + "/device/net");
  return names.empty() ? std::nullopt : std::optional(names.front());
}

Part rdma_part(const FsRoot& fs, const std::string& device, const std::string& port_number) {
  const std::string dir = kRdma + device + "/", port = dir + "ports/" + port_number + "/";
  Part part{.kind = "rdma", .id = device};
  part.attributes["device"] = device;
  if (const auto number = parse_integer(port_number)) part.attributes["port"] = *number;
  put_file(part, "firmware", fs, dir + "fw_ver");
  put_file(part, "board_id", fs, dir + "board_id");
  put_file(part, "hca_type", fs, dir + "hca_type");
  put_file(part, "link_layer", fs, port + "link_layer");
  add_port_rate(fs, port, part);
  part.attributes["gid_count"] = gid_count(fs, port);
  put_text(part, "netdev", netdev(fs, device, port));
  put_text(part, "driver", fs.link_name(dir + "device/driver"));
  if (const auto address = pci_address_of(fs, dir + "device")) {
    put_pci(part, fs, *address);
    put_vpd(part, fs, *address);
  }
  return part;
}

}  // namespace

std::vector<Part> nic_parts(const FsRoot& fs) {
  std::vector<Part> out;
  for (const std::string& name : fs.entries(kNet)) {
    // The directory also holds plain files such as bonding_masters.
    if (name != "lo" && fs.exists(kNet + name + "/operstate")) out.push_back(nic_part(fs, name));
  }
  return out;
}

std::vector<Part> rdma_parts(const FsRoot& fs) {
  std::vector<Part> out;
  for (const std::string& device : fs.entries(kRdma)) {
    const auto ports = fs.entries(kRdma + device + "/ports");
    for (const std::string& port : ports) {
      out.push_back(rdma_part(fs, device, port));
      if (ports.size() > 1) out.back().id = device + ":" + port;
    }
  }
  return out;
}

}  // namespace cb::inventory
