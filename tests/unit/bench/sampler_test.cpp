#include "bench/harness/sampler.h"

#include <atomic>
#include <chrono>
#include <limits>

#include <doctest/doctest.h>

#include "core/clock.h"
#include "tests/unit/bench/thread_comm.h"

using namespace cb;

namespace {

Watchdog quiet() {
  return Watchdog([](const WatchState&) {});
}

SamplePlan exactly(uint64_t samples) {
  SamplePlan plan;
  plan.stop = {.max_seconds = std::numeric_limits<double>::infinity(),
               .min_samples = 1,
               .max_samples = samples,
               .target_half_width = 0};
  plan.warm_up_samples = 3;
  return plan;
}

}  // namespace

TEST_CASE("the sampler takes exactly the samples asked for, and counts the warm-up apart") {
  const auto comm = single_comm();
  Watchdog watchdog = quiet();
  const CancelToken cancel;
  Sampler sampler(*comm, watchdog, cancel);
  for (const uint64_t n : {1, 2, 7, 100, 1000}) {
    uint64_t calls = 0;
    const SampleRun run = sampler.measure_self_timed(exactly(n), [&] {
      ++calls;
      return 0.125;
    });
    CHECK(run.seconds.count() == n);
    CHECK(run.warm_up == 3);
    CHECK(calls == n + 3);
    CHECK(run.seconds.summary().median == 0.125);
  }
}

TEST_CASE("the sampler stops at its time limit") {
  const auto comm = single_comm();
  Watchdog watchdog = quiet();
  const CancelToken cancel;
  Sampler sampler(*comm, watchdog, cancel);
  for (const bool together : {false, true}) {
    SamplePlan plan;
    plan.together = together;
    plan.stop = {.max_seconds = 0.5, .target_half_width = 0};
    plan.warm_up_samples = 0;
    const SampleRun run =
        sampler.measure(plan, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    CHECK(run.elapsed_seconds >= 0.5);
    CHECK(run.seconds.count() >= 2);
    CHECK(run.seconds.summary().min >= 0.001);
  }
}

TEST_CASE("a narrow interval ends the sampling early, a noisy one does not") {
  const auto comm = single_comm();
  Watchdog watchdog = quiet();
  const CancelToken cancel;
  Sampler sampler(*comm, watchdog, cancel);
  SamplePlan plan = exactly(500);
  plan.stop.min_samples = 6;
  plan.stop.target_half_width = 0.01;
  CHECK(sampler.measure_self_timed(plan, [] { return 1.0; }).seconds.count() < 20);
  int i = 0;
  CHECK(sampler.measure_self_timed(plan, [&] { return 1.0 + (i++ % 2); }).seconds.count() == 500);
}

TEST_CASE("ranks of different speed take the same number of samples") {
  ThreadGroup group(3);
  std::vector<uint64_t> counts(3), calls(3);
  group.run([&](Comm& comm) {
    Watchdog watchdog = quiet();
    const CancelToken cancel;
    Sampler sampler(comm, watchdog, cancel);
    const auto self = static_cast<size_t>(comm.rank());
    SamplePlan plan;
    plan.stop = {.max_seconds = 0.3, .target_half_width = 0};
    const SampleRun run = sampler.measure(plan, [&] {
      ++calls[self];
      std::this_thread::sleep_for(std::chrono::microseconds(100 + 900 * comm.rank()));
    });
    counts[self] = run.seconds.count();
  });
  CHECK(counts[0] == counts[1]);
  CHECK(counts[0] == counts[2]);
  CHECK(calls[0] == calls[1]);
  CHECK(calls[0] == calls[2]);
  CHECK(counts[0] > 1);
}

TEST_CASE("of ranks together one decides: a rank whose samples say nothing ends it for nobody") {
  for (const int decider : {0, 1}) {
    ThreadGroup group(2);
    std::vector<uint64_t> counts(2);
    group.run([&](Comm& comm) {
      Watchdog watchdog = quiet();
      const CancelToken cancel;
      Sampler sampler(comm, watchdog, cancel);
      SamplePlan plan = exactly(500);
      plan.stop.min_samples = 6;
      plan.stop.target_half_width = 0.01;
      plan.decider = decider;
      int i = 0;
      const SampleRun run = sampler.measure_self_timed(
          plan, [&] { return comm.rank() == 0 ? 1.0 : 1.0 + (i++ % 2); });
      counts[static_cast<size_t>(comm.rank())] = run.seconds.count();
    });
    CHECK(counts[0] == counts[1]);
    if (decider == 0)
      CHECK(counts[0] < 20);
    else
      CHECK(counts[0] == 500);
  }
}

TEST_CASE("a signal to one rank interrupts all, after the same iteration") {
  for (const uint64_t when : {1, 2, 5, 40}) {  // in the warm-up and after it
    ThreadGroup group(3);
    std::atomic<int> interrupted{0};
    std::vector<uint64_t> calls(3);
    group.run([&](Comm& comm) {
      Watchdog watchdog = quiet();
      CancelToken cancel;
      Sampler sampler(comm, watchdog, cancel);
      const auto self = static_cast<size_t>(comm.rank());
      try {
        sampler.measure(exactly(100000), [&] {
          if (++calls[self] == when && comm.rank() == 1) cancel.cancel();
        });
      } catch (const Interrupted&) {
        ++interrupted;
      }
    });
    CHECK(interrupted == 3);
    CHECK(calls[0] == calls[1]);
    CHECK(calls[0] == calls[2]);
    CHECK(calls[0] >= when);
    CHECK(calls[0] < when + 600);
  }
}

TEST_CASE("stop rule: both sides of every limit") {
  const StopRule rule{
      .max_seconds = 5, .min_samples = 6, .max_samples = 10, .target_half_width = 0.01};
  CHECK_FALSE(rule.done(Samples{}, 100));  // nothing measured is never enough
  CHECK_FALSE(rule.done(Samples{1, 1, 1, 1, 1}, 1));
  CHECK(rule.done(Samples{1, 1, 1, 1, 1, 1}, 1));
  CHECK_FALSE(rule.done(Samples{1, 2, 3, 4, 5, 6}, 4.999));
  CHECK(rule.done(Samples{1, 2, 3, 4, 5, 6}, 5));
  CHECK_FALSE(rule.done(Samples{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1));
  CHECK(rule.done(Samples{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1));
}

TEST_CASE("stop rule: samples that agree still span the least time, except at a limit") {
  const StopRule rule{.max_seconds = 5, .min_seconds = 0.02, .min_samples = 6, .max_samples = 10};
  CHECK_FALSE(rule.done(Samples{1, 1, 1, 1, 1, 1}, 0.0199));
  CHECK(rule.done(Samples{1, 1, 1, 1, 1, 1}, 0.02));
  CHECK(rule.done(Samples{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0.001));
  const StopRule short_one{.max_seconds = 0.01, .min_seconds = 0.02};
  CHECK(short_one.done(Samples{1}, 0.01));
}

TEST_CASE("warm-up ends when three samples agree and no longer fall, or at its limits") {
  WarmUp falling(100, 100);
  for (const double s : {9.0, 7.0, 5.0, 4.0}) {
    falling.add(s);
    CHECK_FALSE(falling.done());
  }
  falling.add(4.0);
  CHECK_FALSE(falling.done());  // 5, 4, 4: one is still 25 % off
  falling.add(4.0);
  CHECK(falling.done());
  CHECK(falling.count() == 6);
  WarmUp few(100, 2);
  few.add(1);
  CHECK_FALSE(few.done());
  few.add(9);
  CHECK(few.done());
  WarmUp brief(1.0, 100);
  brief.add(0.999);
  CHECK_FALSE(brief.done());
  brief.add(0.001);
  CHECK(brief.done());
}

TEST_CASE("spans of an iteration stand beside its seconds, without those of the warm-up") {
  const auto comm = single_comm();
  Watchdog watchdog = quiet();
  const CancelToken cancel;
  Sampler sampler(*comm, watchdog, cancel);
  for (const uint64_t n : {1, 7, 3000}) {
    SamplePlan plan = exactly(n);
    plan.spans = {"copy", "add"};
    uint64_t calls = 0, begun = 0;
    plan.begin = [&] { begun = calls; };
    const SampleRun run = sampler.measure_spans(plan, [&](Spans& spans) {
      ++calls;
      spans.add("copy", static_cast<double>(calls));
      if (calls % 2 == 0) spans.add("add", 0.5);  // an iteration may give none
      return 0.125;
    });
    CHECK(run.warm_up == 3);
    CHECK(begun == 3);
    REQUIRE(run.spans.of("copy").size() == n);
    CHECK(run.spans.of("copy").front() == 4);
    CHECK(run.spans.of("copy").back() == static_cast<double>(n + 3));
    CHECK(run.spans.of("add").size() == (n + 3) / 2 - 1);
  }
}

TEST_CASE("a span that was not planned is a mistake of the case") {
  Spans spans({"copy"});
  CHECK_THROWS_AS(spans.add("triad", 1), Error);
  CHECK_THROWS_AS(spans.of("triad"), Error);
}

TEST_CASE("a warm-up that has a least time lasts so long, though its samples agree at once") {
  const auto comm = single_comm();
  Watchdog watchdog = quiet();
  const CancelToken cancel;
  Sampler sampler(*comm, watchdog, cancel);
  SamplePlan plan = exactly(2);
  plan.warm_up_at_least = 0.05;
  double begun = 0;
  plan.begin = [&] { begun = monotonic_seconds(); };
  const double start = monotonic_seconds();
  const SampleRun run = sampler.measure_self_timed(plan, [] { return 1.0; });
  CHECK(begun - start >= 0.05);
  CHECK(run.warm_up >= 3);
  CHECK(run.seconds.count() == 2);
}
