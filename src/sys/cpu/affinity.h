#pragma once

#include <vector>

namespace cb {

// CPUs that the calling thread may run on, ascending (the launcher's binding and the control
// group's CPU set). Throws Error if the kernel does not tell.
std::vector<int> allowed_cpus();

// Binds the calling thread to these CPUs. False if the kernel refuses.
bool bind_thread(const std::vector<int>& cpus);

// As bind_thread() to one CPU; throws Error naming the CPU if the kernel refuses.
void pin_this_thread(int cpu);

// Puts the calling thread's mask back when it goes out of scope.
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
