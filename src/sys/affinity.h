#pragma once

#include <vector>

namespace cb {

// CPUs that the calling thread may run on, ascending (the launcher's binding and the control
// group's CPU set). Throws Error if the kernel does not tell.
std::vector<int> usable_cpus();

// From now on the calling thread runs on this CPU only. Throws Error naming the CPU.
void pin_this_thread(int cpu);

}  // namespace cb
