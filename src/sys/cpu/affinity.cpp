#include "sys/cpu/affinity.h"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {
namespace {

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeSet>;

// cpu_set_t itself has room for 1,024 CPUs only.
constexpr int kMaxCpus = 16384;

}  // namespace

std::vector<int> allowed_cpus() {
  const CpuSet set(CPU_ALLOC(kMaxCpus));
  const size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0)
    throw Error(fmt::format("sched_getaffinity failed: {}", std::strerror(errno)));
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set.get())) cpus.push_back(cpu);
  }
  return cpus;
}

bool bind_thread(const std::vector<int>& cpus) {
  const CpuSet set(CPU_ALLOC(kMaxCpus));
  const size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  if (set == nullptr) return false;
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<size_t>(cpu), bytes, set.get());
  return sched_setaffinity(0, bytes, set.get()) == 0;
}

void pin_this_thread(int cpu) {
  if (!bind_thread({cpu}))
    throw Error(fmt::format("cannot run on cpu {}: {}", cpu, std::strerror(errno)));
}

}  // namespace cb
