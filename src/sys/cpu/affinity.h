#pragma once

#include <vector>

namespace cb {

// Returns the CPUs that the calling thread may run on, ascending (the launcher's binding and the
// control group's CPU set). Throws Error if the kernel does not say.
std::vector<int> allowed_cpus();

// Binds the calling thread to these CPUs. False if the kernel refuses.
bool bind_thread(const std::vector<int>& cpus);

// Binds the calling thread to one CPU. Throws Error naming the CPU if the kernel refuses.
void pin_this_thread(int cpu);

// Restores the calling thread's mask when it goes out of scope.
class KeepAffinity {
 public:
  KeepAffinity() : cpus_(allowed_cpus()) {}
  ~KeepAffinity() { bind_thread(cpus_); }
  KeepAffinity(const KeepAffinity&) = delete;
  KeepAffinity& operator=(const KeepAffinity&) = delete;

 private:
  std::vector<int> cpus_;
};

}  // namespace cb
