// How near PCI functions are to each other, by the bridges that /sys shows above them.
#pragma once

#include <string>
#include <vector>

#include "sys/os/fs_root.h"

namespace cb {

// Uses the terms of `nvidia-smi topo -m`, the nearest first.
enum class PciReach {
  pix,   // at most one PCIe switch is between them
  pxb,   // several PCIe switches are between them
  phb,   // they share a host bridge
  node,  // they have different host bridges on the same NUMA node
  sys    // they are on different nodes, or the node of one is not known
};
const char* pci_reach_name(PciReach reach);  // "PIX"

struct ReachedNic {
  std::string device;  // "mlx5_0"
  PciReach reach = PciReach::sys;
};

// Returns every RDMA device that is a PCI function, in the natural order of names and in any state
// of its ports. Empty if the function itself is unknown (also for an empty address).
std::vector<ReachedNic> reached_nics(const FsRoot& fs, const std::string& pci_address);

// Returns the nearest of them: all that are equally near.
std::vector<ReachedNic> nearest_nics(const FsRoot& fs, const std::string& pci_address);

// Returns the index of the PCI function (address) in `others` that shares most bridges with
// `pci_address`: the first of equals, and 0 if the function itself is unknown (also for an empty
// address).
size_t nearest_function(const FsRoot& fs, const std::string& pci_address,
                        const std::vector<std::string>& others);

}  // namespace cb
