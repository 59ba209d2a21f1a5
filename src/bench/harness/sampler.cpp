#include "bench/harness/sampler.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"
#include "sys/gpu/nvtx.h"

namespace cb {
namespace {

// Batches grow so that agreeing costs at most a few per cent of the time, and stay small enough to
// stop in time.
constexpr uint64_t kMaxBatch = 256;
constexpr double kMaxBatchSeconds = 0.1;

uint64_t next_batch(uint64_t batch, double batch_seconds) {
  if (batch_seconds > kMaxBatchSeconds) return std::max<uint64_t>(1, batch / 2);
  return std::min(kMaxBatch, batch * 2);
}

// What a rank wants after a batch; the largest over the ranks is what all do, so that no rank
// leaves while another enters the next barrier.
constexpr double kCarryOn = 0, kEnough = 1, kCancelled = 2;

}  // namespace

Spans::Spans(const std::vector<std::string>& names) {
  for (const std::string& name : names) series_.emplace_back(name, std::vector<double>());
}

size_t Spans::index(std::string_view name) const {
  for (size_t i = 0; i < series_.size(); ++i) {
    if (series_[i].first == name) return i;
  }
  throw Error(fmt::format("no span is named {}", name));
}

void Spans::clear() {
  for (auto& series : series_) series.second.clear();
}

bool Sampler::agree_done(const SamplePlan& plan, bool mine) {
  const bool decides = !plan.together || comm_.rank() == plan.decider;
  double vote = decides && mine ? kEnough : kCarryOn;
  if (cancel_.cancelled()) vote = kCancelled;
  if (plan.together && comm_.size() > 1) vote = comm_.max(vote);
  if (vote == kCancelled) throw Interrupted();
  return vote == kEnough;
}

SampleRun Sampler::measure(const SamplePlan& plan, const std::function<void()>& once) {
  return measure_self_timed(plan, [&] {
    if (plan.together) comm_.barrier();
    const double start = monotonic_seconds();
    once();
    return monotonic_seconds() - start;
  });
}

uint64_t Sampler::warm_up(const SamplePlan& plan, const std::function<double()>& once) {
  WarmUp rule(plan.warm_up_seconds, plan.warm_up_samples);
  const std::string phase = plan.what.empty() ? "warm-up" : plan.what + ", warm-up";
  const nvtx::Range range(phase);
  watchdog_.note(phase);
  const double end = monotonic_seconds() + plan.warm_up_at_least;
  while (!agree_done(plan, rule.done() && monotonic_seconds() >= end)) {
    rule.add(once());
    watchdog_.progress();
  }
  return rule.count();
}

// The time limit is looked at after every sample where nobody has to agree; the interval of the
// median, which sorts the samples, only after the batch.
void Sampler::batch(const SamplePlan& plan, const std::function<double()>& once, uint64_t size,
                    double start, SampleRun& run) {
  for (uint64_t i = 0; i < size; ++i) {
    run.seconds.add(once());
    watchdog_.progress();
    if (plan.together) continue;
    run.elapsed_seconds = monotonic_seconds() - start;
    if (cancel_.cancelled() || run.elapsed_seconds >= plan.stop.max_seconds) return;
  }
  run.elapsed_seconds = monotonic_seconds() - start;
}

SampleRun Sampler::measure_self_timed(const SamplePlan& plan, const std::function<double()>& once) {
  return measure_spans(plan, [&](Spans&) { return once(); });
}

SampleRun Sampler::measure_spans(const SamplePlan& plan,
                                 const std::function<double(Spans&)>& iterate) {
  SampleRun run;
  run.spans = Spans(plan.spans);
  const auto once = [&] { return iterate(run.spans); };
  run.warm_up = warm_up(plan, once);
  run.spans.clear();
  if (plan.begin) plan.begin();
  const std::string phase = plan.what.empty() ? "sampling" : plan.what + ", sampling";
  const nvtx::Range range(phase);
  watchdog_.note(phase);
  const bool many = plan.together && comm_.size() > 1;
  const double start = monotonic_seconds();
  uint64_t size = 1;
  do {
    const double batch_start = monotonic_seconds();
    // Every rank has the same count, so every rank clips alike.
    size = std::min(size, std::max<uint64_t>(1, plan.stop.max_samples - run.seconds.count()));
    batch(plan, once, size, start, run);
    const double seconds = monotonic_seconds() - batch_start;
    // The slowest rank's time: with their own, ranks would take batches of different sizes and
    // wait for each other for ever.
    size = next_batch(size, many ? comm_.max(seconds) : seconds);
  } while (!agree_done(plan, plan.stop.done(run.seconds, run.elapsed_seconds)));
  return run;
}

}  // namespace cb
