#pragma once

#include <vector>

#include "sys/cpu/numa.h"
#include "sys/storage/block.h"

namespace cb::io {

// The CPUs of the NUMA node that all these disks hang on. None where the host has one node, a
// disk's node is not known, or the disks hang on several.
std::vector<int> near_cpus(const std::vector<block::Device>& disks, const Machine& machine);

}  // namespace cb::io
