#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/harness/cancel.h"
#include "bench/harness/comm.h"
#include "bench/harness/stop_rule.h"
#include "bench/harness/watchdog.h"

namespace cb {

// What one iteration gives beside its seconds, such as the time of each of its parts: a series of
// each name that was planned. A name that was not planned throws Error.
class Spans {
 public:
  Spans() = default;
  explicit Spans(const std::vector<std::string>& names);

  void add(std::string_view name, double value) { add(index(name), value); }
  // By the place in SamplePlan::spans, where a look for the name takes too long.
  void add(size_t place, double value) { series_[place].second.push_back(value); }
  // In the order of the iterations, so that ranks can be compared iteration by iteration.
  const std::vector<double>& of(std::string_view name) const { return series_[index(name)].second; }
  void clear();  // of what was added, not of the names

 private:
  size_t index(std::string_view name) const;
  std::vector<std::pair<std::string, std::vector<double>>> series_;
};

// How one series is to be taken.
struct SamplePlan {
  StopRule stop = {};
  double warm_up_seconds = 1;     // at most
  uint64_t warm_up_samples = 50;  // at most
  double warm_up_at_least = 0;    // seconds of wall time, where a clock has to settle
  bool together = true;   // all ranks take the same number of samples, each behind a barrier
  int decider = 0;        // then this rank's samples decide whether there are enough
  std::string what = {};  // for the watchdog, such as "all_reduce 64K float"
  std::vector<std::string> spans = {};  // names of what an iteration gives beside its seconds
  std::function<void()> begin = {};     // called between the warm-up and the first sample
};

struct SampleRun {
  Samples seconds;       // per iteration, of this rank
  Spans spans;           // of the same iterations: without those of the warm-up
  uint64_t warm_up = 0;  // iterations before the first sample
  double elapsed_seconds = 0;
};

// Owns warm-up, barrier, stop rule and time limit, so that a case never writes a timing loop.
class Sampler {
 public:
  Sampler(Comm& comm, Watchdog& watchdog, const CancelToken& cancel)
      : comm_(comm), watchdog_(watchdog), cancel_(cancel) {}

  // Times `once` again and again. With plan.together the ranks agree after growing batches of
  // iterations whether to go on (those of plan.decider decide), so the agreement is no part of any
  // sample. Throws Interrupted when cancelled; with plan.together on every rank after the same
  // iteration, although the signal came to one of them only.
  SampleRun measure(const SamplePlan& plan, const std::function<void()>& once);

  // As measure(), for an iteration that times itself: `once` returns its seconds.
  SampleRun measure_self_timed(const SamplePlan& plan, const std::function<double()>& once);

  // As measure_self_timed(), where an iteration also gives plan.spans. The sampler drops what the
  // warm-up gave, so that a case keeps no list of its own beside it.
  SampleRun measure_spans(const SamplePlan& plan, const std::function<double(Spans&)>& once);

 private:
  uint64_t warm_up(const SamplePlan& plan, const std::function<double()>& once);
  void batch(const SamplePlan& plan, const std::function<double()>& once, uint64_t size,
             double start, SampleRun& run);
  bool agree_done(const SamplePlan& plan, bool mine);
  Comm& comm_;
  Watchdog& watchdog_;
  const CancelToken& cancel_;
};

}  // namespace cb
