#include "bench/sampler.h"

#include <algorithm>

#include "core/clock.h"

namespace cb {
namespace {

// Batches grow so that agreeing costs at most a few per cent of the time, and stay small enough to
// stop in time.
constexpr uint64_t kLargestBatch = 64;
constexpr double kLargestBatchSeconds = 0.2;

uint64_t next_batch(uint64_t batch, double batch_seconds) {
  if (batch_seconds > kLargestBatchSeconds) return std::max<uint64_t>(1, batch / 2);
  return std::min(kLargestBatch, batch * 2);
}

}  // namespace

bool Sampler::agree_done(bool mine, bool together) {
  if (!together || comm_.size() == 1) return mine;
  // Rank 0 decides for all; a cancelled rank stops all.
  const double vote = (comm_.rank() == 0 && mine) || cancel_.cancelled() ? 1 : 0;
  return comm_.max(vote) > 0;
}

SampleRun Sampler::measure(const SamplePlan& plan, const std::function<void()>& once) {
  return measure_self_timed(plan, [&] {
    if (plan.together) comm_.barrier();
    const double start = monotonic_seconds();
    once();
    return monotonic_seconds() - start;
  });
}

SampleRun Sampler::measure_self_timed(const SamplePlan& plan, const std::function<double()>& once) {
  SampleRun run;
  WarmUp warm_up(plan.warm_up_seconds, plan.warm_up_samples);
  watchdog_.note("warm-up");
  while (!agree_done(warm_up.done(), plan.together)) {
    if (cancel_.cancelled()) throw Interrupted();
    warm_up.add(once());
    watchdog_.progress();
  }
  run.warm_up = warm_up.count();

  const double start = monotonic_seconds();
  uint64_t batch = 1;
  watchdog_.note("sampling");
  do {
    const double batch_start = monotonic_seconds();
    for (uint64_t i = 0; i < batch; ++i) {
      run.seconds.add(once());
      watchdog_.progress();
      run.elapsed_seconds = monotonic_seconds() - start;
      if (!plan.together &&
          (cancel_.cancelled() || plan.stop.done(run.seconds, run.elapsed_seconds)))
        break;
    }
    batch = next_batch(batch, monotonic_seconds() - batch_start);
  } while (!agree_done(plan.stop.done(run.seconds, run.elapsed_seconds), plan.together) &&
           !cancel_.cancelled());
  if (comm_.size() > 1 && plan.together ? comm_.any(cancel_.cancelled()) : cancel_.cancelled())
    throw Interrupted();
  return run;
}

}  // namespace cb
