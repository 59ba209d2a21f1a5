#pragma once

#include <vector>

#include "sys/cpu/numa.h"
#include "sys/storage/block.h"

namespace cb::io {

// The CPUs of the NUMA node that all these disks hang on. Empty if the host has one node, if a
// disk's node is unknown, or if the disks hang on several nodes.
std::vector<int> near_cpus(const std::vector<block::Device>& disks, const Machine& machine);

}  // namespace cb::io
