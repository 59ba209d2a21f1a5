// What the harness costs per iteration: the sampler around an empty call, against the same call
// twenty million times without it. By hand: build/ci/bin/sampler_bench
// On a busy machine the wall time holds what others took; this thread's CPU time does not.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "bench/harness/sampler.h"
#include "core/clock.h"

namespace {

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

int main() {
  using namespace cb;
  const auto comm = single_comm();
  const CancelToken cancel;
  Watchdog watchdog([](const WatchState&) {});
  watchdog.arm("sampler_bench", 3600, 3600);
  Sampler sampler(*comm, watchdog, cancel);
  SamplePlan plan;
  plan.stop = {.max_seconds = 60, .max_samples = 2000000, .target_half_width = 0};
  plan.warm_up_samples = 1;
  double least = 1e9, least_cpu = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double start = monotonic_seconds(), cpu = thread_cpu_seconds();
    const SampleRun run = sampler.measure_self_timed(plan, [&] {
      watchdog.enter();
      return 1e-6;
    });
    const auto count = static_cast<double>(run.seconds.count());
    least = std::min(least, (monotonic_seconds() - start) / count);
    least_cpu = std::min(least_cpu, (thread_cpu_seconds() - cpu) / count);
  }
  std::printf("harness: %.0f ns per iteration, %.0f ns of CPU (least of 5 rounds of 2,000,000)\n",
              least * 1e9, least_cpu * 1e9);
  return 0;
}
