#include "sys/cpu/reachable_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <memory>
#include <numeric>

#include "sys/cpu/affinity.h"

namespace cb {
namespace {

constexpr int kMostCpus = 16384;

struct FreeMask {
  void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
};

// Of these CPUs those that the process may use; all of them if the kernel does not say.
std::vector<int> usable_by(pid_t process, std::vector<int> cpus) {
  const std::unique_ptr<cpu_set_t, FreeMask> mask(CPU_ALLOC(kMostCpus));
  const size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  if (mask == nullptr || ::sched_getaffinity(process, bytes, mask.get()) != 0) return cpus;
  std::erase_if(cpus,
                [&](int cpu) { return !CPU_ISSET_S(static_cast<size_t>(cpu), bytes, mask.get()); });
  return cpus;
}

}  // namespace

// Of a mask of all CPUs the kernel keeps those of the CPU set. A parent outside of the container
// has the number 0, and nothing is known of it: then the thread keeps to what it has.
std::vector<int> reachable_cpus() {
  const pid_t parent = ::getppid();
  if (parent <= 0) return allowed_cpus();
  std::vector<int> all(kMostCpus);
  std::iota(all.begin(), all.end(), 0);
  const KeepAffinity keep;
  bind_thread(all);
  return usable_by(parent, allowed_cpus());
}

}  // namespace cb
