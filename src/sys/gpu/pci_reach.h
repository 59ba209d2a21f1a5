// How near PCI functions are to each other, by the bridges that /sys shows above both.
#pragma once

#include <string>
#include <vector>

#include "sys/os/fs_root.h"

namespace cb {

// In the terms of `nvidia-smi topo -m`, the nearest first.
enum class PciReach {
  pix,   // at most one PCIe switch between
  pxb,   // several
  phb,   // the same host bridge
  node,  // another one on the same NUMA node
  sys    // another node, or one of the two nodes is not known
};
const char* pci_reach_name(PciReach reach);  // "PIX"

struct ReachedNic {
  std::string device;  // "mlx5_0"
  PciReach reach = PciReach::sys;
};

// Every RDMA device that is a PCI function, in the natural order of names, whatever the state of
// its ports; none where the function itself is unknown (an empty address too).
std::vector<ReachedNic> reached_nics(const FsRoot& fs, const std::string& pci_address);

// Those of them that are nearest: all that are equally near.
std::vector<ReachedNic> nearest_nics(const FsRoot& fs, const std::string& pci_address);

// Which of these PCI functions (addresses) has most bridges in common with one: its index. The
// first of equals, and 0 where the function itself is unknown (an empty address too).
size_t nearest_function(const FsRoot& fs, const std::string& pci_address,
                        const std::vector<std::string>& others);

}  // namespace cb
