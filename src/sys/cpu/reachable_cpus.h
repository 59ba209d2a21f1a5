#pragma once

#include <vector>

namespace cb {

// Returns the CPUs that the calling thread could be bound to, ascending: those of the control
// group's CPU set that the process which started this one may use, too. A launcher binds each rank
// and not itself, so its binding does not count; `taskset … mpirun …` does.
std::vector<int> reachable_cpus();

}  // namespace cb
