#include "bench/storage/io/near_cpus.h"

namespace cb::io {

std::vector<int> near_cpus(const std::vector<block::Device>& disks, const Machine& machine) {
  if (disks.empty() || !disks[0].numa_node || machine.nodes.size() < 2) return {};
  for (const block::Device& disk : disks) {
    if (disk.numa_node != disks[0].numa_node) return {};
  }
  std::vector<int> out;
  for (const Core& core : machine.cores) {
    if (core.node == *disks[0].numa_node) out.insert(out.end(), core.cpus.begin(), core.cpus.end());
  }
  return out;
}

}  // namespace cb::io
