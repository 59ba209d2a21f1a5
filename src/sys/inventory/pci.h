#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/inventory.h"
#include "sys/os/fs_root.h"

namespace cb::inventory {

// True for "0000:9b:00.0".
bool is_pci_address(std::string_view text);

// Returns the PCI function that a /sys/class/…/device link leads to. For a device on another bus
// (virtio), returns the function above it. Nothing if there is none.
std::optional<std::string> pci_address_of(const FsRoot& fs, const std::string& device_link);

// "32.0 GT/s PCIe" → 5; nothing for "Unknown".
std::optional<int64_t> pcie_generation(const std::string& speed);

// Adds pci_address, pci_id ("15b3:1021"), numa_node and the link: pcie_generation and pcie_lanes as
// trained now, pcie_max_generation and pcie_max_lanes as the device allows.
void put_pci(Part& part, const FsRoot& fs, const std::string& address);

struct PciFunction {
  std::string address;
  uint32_t class_code = 0;  // base class, subclass, interface: 0x030200
};

// Returns every PCI function, addresses ascending.
std::vector<PciFunction> pci_functions(const FsRoot& fs);

std::string pci_path(const std::string& address, const std::string& file);

}  // namespace cb::inventory
