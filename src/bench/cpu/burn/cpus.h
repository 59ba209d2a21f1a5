#pragma once

#include <vector>

#include "bench/harness/case.h"

namespace cb {

// Divides the CPUs among the ranks of one host: masks[i] are the CPUs that local rank i may use.
// Each CPU goes to one rank that may use it, to the one with the fewest so far. Returns each
// rank's, ascending.
std::vector<std::vector<int>> divide_cpus(const std::vector<std::vector<int>>& masks);

// Collective. The CPUs that this rank is to burn: together the ranks of a host have all that any of
// them may use, each once. A rank may be left with none.
std::vector<int> cpus_of_this_rank(const Context& context);

}  // namespace cb
