#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// Divides the CPUs among the ranks of one host: masks[i] are the CPUs that local rank i may use.
// Each CPU goes to one rank that may use it, the one with the fewest so far. Returns the CPUs of
// each rank, ascending.
std::vector<std::vector<int>> divide_cpus(const std::vector<std::vector<int>>& masks);

// The CPUs that this rank must burn. The ranks of a host together burn every CPU that any of them
// may use, each exactly once. A rank may get none. Collective.
std::vector<int> cpus_of_this_rank(const Context& context);

}  // namespace cb
