// Nodes, cores and caches of this host as hwloc sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sys/cpu/affinity.h"

namespace cb {

// A physical core: those of its processing units (Linux CPU numbers) that this process may use.
struct Core {
  std::vector<int> cpus;
  int node = 0;  // NUMA node, by the kernel's number
};

struct Machine {
  std::vector<Core> cores;  // in hwloc's logical order: neighbours share caches and node
  std::vector<int> nodes;   // NUMA nodes with at least one of these cores, ascending
  int64_t llc_bytes = 0;    // sum of the last-level caches of the whole host; 0 if unknown
  std::vector<int64_t> node_llc_bytes;  // sum of the last-level caches of each of `nodes`
};

// Reads the part of this host that the calling thread's affinity mask allows. Throws Error naming
// the call that failed.
Machine read_machine();

// Returns "0-3,8" for {0,1,2,3,8}.
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace cb
