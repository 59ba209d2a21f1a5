#include "sys/gpu/pci_reach.h"

#include <algorithm>
#include <filesystem>

#include "sys/inventory/pci.h"

namespace cb {
namespace {

// Returns the PCI devices from the host bridge ("pci0000:00") down to the device itself; empty if
// no host bridge is known above it.
std::vector<std::string> pci_ancestry(const FsRoot& fs, const std::string& link) {
  std::error_code error;
  std::vector<std::string> out;
  for (const auto& component : std::filesystem::canonical(fs.resolve(link), error)) {
    const std::string name = component.string();
    const bool host_bridge = name.starts_with("pci") && name.find(':') != std::string::npos;
    if (host_bridge || (!out.empty() && inventory::is_pci_address(name))) out.push_back(name);
  }
  return out;
}

std::vector<std::string> ancestry_of(const FsRoot& fs, const std::string& pci_address) {
  if (pci_address.empty()) return {};
  return pci_ancestry(fs, "/sys/bus/pci/devices/" + pci_address);
}

PciReach reach_between(const std::vector<std::string>& a, const std::vector<std::string>& b,
                       bool same_node) {
  const auto [rest_a, rest_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto shared = rest_a - a.begin();
  if (shared == 0) return same_node ? PciReach::node : PciReach::sys;
  if (shared == 1) return PciReach::phb;
  // Below the last common bridge: the device, and a port of the switch above it.
  return a.end() - rest_a <= 2 && b.end() - rest_b <= 2 ? PciReach::pix : PciReach::pxb;
}

}  // namespace

const char* pci_reach_name(PciReach reach) {
  switch (reach) {
    case PciReach::pix:
      return "PIX";
    case PciReach::pxb:
      return "PXB";
    case PciReach::phb:
      return "PHB";
    case PciReach::node:
      return "NODE";
    case PciReach::sys:
      break;
  }
  return "SYS";
}

std::vector<ReachedNic> reached_nics(const FsRoot& fs, const std::string& pci_address) {
  std::vector<ReachedNic> out;
  const auto own = ancestry_of(fs, pci_address);
  if (own.empty()) return out;
  const auto node = fs.integer(inventory::pci_path(pci_address, "numa_node"));
  for (const std::string& device : fs.entries("/sys/class/infiniband")) {
    const std::string link = "/sys/class/infiniband/" + device + "/device";
    const auto nic = pci_ancestry(fs, link);
    if (nic.empty()) continue;
    const bool same_node = node && *node >= 0 && fs.integer(link + "/numa_node") == node;
    out.push_back({device, reach_between(own, nic, same_node)});
  }
  return out;
}

std::vector<ReachedNic> nearest_nics(const FsRoot& fs, const std::string& pci_address) {
  std::vector<ReachedNic> nics = reached_nics(fs, pci_address);
  const auto nearest =
      std::min_element(nics.begin(), nics.end(),
                       [](const ReachedNic& a, const ReachedNic& b) { return a.reach < b.reach; });
  if (nearest == nics.end()) return nics;
  std::erase_if(nics, [reach = nearest->reach](const ReachedNic& n) { return n.reach != reach; });
  return nics;
}

size_t nearest_function(const FsRoot& fs, const std::string& pci_address,
                        const std::vector<std::string>& others) {
  const auto own = ancestry_of(fs, pci_address);
  size_t best = 0;
  std::ptrdiff_t most = -1;
  for (size_t i = 0; i < others.size() && !own.empty(); ++i) {
    const auto other = ancestry_of(fs, others[i]);
    if (other.empty()) continue;
    const auto shared =
        std::mismatch(own.begin(), own.end(), other.begin(), other.end()).first - own.begin();
    if (shared <= most) continue;
    most = shared;
    best = i;
  }
  return best;
}

}  // namespace cb
