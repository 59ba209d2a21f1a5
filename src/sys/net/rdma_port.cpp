#include "sys/net/rdma_port.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/units.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/pci.h"

namespace cb {
namespace {

using inventory::trimmed;
using inventory::words;

const std::string kClass = "/sys/class/infiniband/";

// A RoCE table has up to 1,024 entries and is filled from the front: after this many empty ones the
// rest is skipped.
constexpr int kEmptyGids = 8;

std::string behind_colon(const std::string& text) {
  const size_t colon = text.find(':');
  return colon == std::string::npos ? text : trimmed(std::string_view(text).substr(colon + 1));
}

RoceVersion roce_version(const FsRoot& fs, const std::string& port, const std::string& index) {
  const std::string type = fs.text(port + "gid_attrs/types/" + index).value_or("");
  if (type == "RoCE v2") return RoceVersion::v2;
  // Older kernels print "IB/RoCE V1".
  return type.find("RoCE") != std::string::npos ? RoceVersion::v1 : RoceVersion::none;
}

std::vector<RdmaGid> read_gids(const FsRoot& fs, const std::string& port, bool ethernet) {
  std::vector<RdmaGid> out;
  int empty = 0;
  for (const std::string& index : fs.entries(port + "gids")) {
    const auto number = parse_integer(index);
    const auto bytes = parse_gid(fs.text(port + "gids/" + index).value_or(""));
    const bool used =
        bytes && std::any_of(bytes->begin(), bytes->end(), [](uint8_t b) { return b != 0; });
    if (!used || !number) {
      if (++empty == kEmptyGids) break;
      continue;
    }
    empty = 0;
    out.push_back({static_cast<int>(*number), *bytes,
                   ethernet ? roce_version(fs, port, index) : RoceVersion::none,
                   fs.text(port + "gid_attrs/ndevs/" + index).value_or("")});
  }
  return out;
}

void add_rate(const FsRoot& fs, const std::string& dir, RdmaPort& port) {
  if (!port.active()) return;  // the rate of a port that is not active means nothing
  const auto rate = words(fs.text(dir + "rate").value_or(""));
  if (rate.size() < 2 || rate[1] != "Gb/sec") return;
  if (const auto gigabits = parse_number(rate[0]); gigabits && *gigabits > 0 && *gigabits < 1e6)
    port.signal_bits_per_second = *gigabits * 1e9;
  if (rate.size() == 4) port.link = rate[2].substr(1) + " " + rate[3].substr(0, rate[3].size() - 1);
}

template <typename Integer>
std::optional<int> to_int(const std::optional<Integer>& value) {
  return value && *value >= 0 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

void add_pci(const FsRoot& fs, const std::string& device, RdmaPort& port) {
  const std::string link = kClass + device + "/device";
  port.driver = fs.link_name(link + "/driver").value_or("");
  port.pci_address = inventory::pci_address_of(fs, link);
  // For devices on the auxiliary bus (irdma), the driver is that of the PCI function above.
  if (port.pci_address && (port.driver.empty() || port.driver == "irdma"))
    port.driver =
        fs.link_name(inventory::pci_path(*port.pci_address, "driver")).value_or(port.driver);
  if (port.driver.empty() && fs.exists(kClass + device + "/parent")) port.driver = "rxe";
  if (!port.pci_address) return;
  const auto file = [&](const char* name) { return inventory::pci_path(*port.pci_address, name); };
  port.numa_node = to_int(fs.integer(file("numa_node")));
  const auto generation = [&](const char* name) {
    return to_int(inventory::pcie_generation(fs.text(file(name)).value_or("")));
  };
  port.pcie_lanes = to_int(fs.integer(file("current_link_width")));
  port.pcie_generation = generation("current_link_speed");
  port.pcie_max_lanes = to_int(fs.integer(file("max_link_width")));
  port.pcie_max_generation = generation("max_link_speed");
}

std::string netdev_of(const FsRoot& fs, const std::string& device, const RdmaPort& port) {
  // Only soft-RoCE has this file.
  if (const auto parent = fs.text(kClass + device + "/parent")) return *parent;
  for (const RdmaGid& gid : port.gids) {
    if (!gid.netdev.empty()) return gid.netdev;
  }
  const auto names = fs.entries(kClass + device + "/device/net");
  return names.empty() ? "" : names.front();
}

RdmaPort read_port(const FsRoot& fs, const std::string& device, int number) {
  RdmaPort port{.device = device, .port = number};
  const std::string dir = port.directory();
  port.link_layer = fs.text(dir + "link_layer").value_or("");
  port.state = behind_colon(fs.text(dir + "state").value_or(""));
  port.physical_state = behind_colon(fs.text(dir + "phys_state").value_or(""));
  add_rate(fs, dir, port);
  port.gids = read_gids(fs, dir, port.ethernet());
  add_pci(fs, device, port);
  port.netdev = netdev_of(fs, device, port);
  return port;
}

bool by_slot(const RdmaPort& a, const RdmaPort& b) {
  if (a.pci_address.has_value() != b.pci_address.has_value()) return a.pci_address.has_value();
  if (a.pci_address != b.pci_address) return a.pci_address < b.pci_address;
  if (a.device != b.device) return natural_less(a.device, b.device);
  return a.port < b.port;
}

}  // namespace

bool RdmaGid::is_ipv4() const {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](uint8_t b) { return b == 0; }) &&
         bytes[10] == 0xff && bytes[11] == 0xff;
}

bool RdmaGid::is_link_local() const {
  if (is_ipv4()) return bytes[12] == 169 && bytes[13] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::string RdmaPort::name() const {
  return port == 1 ? device : fmt::format("{}:{}", device, port);
}

std::string RdmaPort::directory() const {
  return fmt::format("{}{}/ports/{}/", kClass, device, port);
}

std::vector<RdmaPort> rdma_ports(const FsRoot& fs) {
  std::vector<RdmaPort> out;
  for (const std::string& device : fs.entries(kClass)) {
    for (const std::string& port : fs.entries(kClass + device + "/ports")) {
      if (const auto number = parse_integer(port))
        out.push_back(read_port(fs, device, static_cast<int>(*number)));
    }
  }
  std::stable_sort(out.begin(), out.end(), by_slot);
  return out;
}

std::optional<std::array<uint8_t, 16>> parse_gid(std::string_view text) {
  std::array<uint8_t, 16> out{};
  if (text.size() != 39) return std::nullopt;
  for (size_t group = 0; group < 8; ++group) {
    const std::string_view digits = text.substr(group * 5, 4);
    uint16_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + 4) return std::nullopt;
    if (group < 7 && text[group * 5 + 4] != ':') return std::nullopt;
    out[group * 2] = static_cast<uint8_t>(value >> 8);
    out[group * 2 + 1] = static_cast<uint8_t>(value & 0xff);
  }
  return out;
}

int gid_score(const RdmaGid& gid, const std::string& netdev) {
  if (std::all_of(gid.bytes.begin(), gid.bytes.end(), [](uint8_t b) { return b == 0; })) return -1;
  int score = 0;
  if (gid.roce == RoceVersion::v2) score += 200;  // v1 does not cross routers
  if (gid.is_ipv4()) score += 100;
  if (!gid.is_link_local()) score += 40;
  if (!netdev.empty() && gid.netdev == netdev) score += 10;
  return score;
}

const RdmaGid* best_gid(const RdmaPort& port) {
  if (!port.ethernet()) return port.gids.empty() ? nullptr : &port.gids.front();
  const RdmaGid* best = nullptr;
  for (const RdmaGid& gid : port.gids) {
    if (best == nullptr || gid_score(gid, port.netdev) > gid_score(*best, port.netdev)) best = &gid;
  }
  return best;
}

}  // namespace cb
