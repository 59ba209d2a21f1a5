#pragma once

#include <functional>
#include <string>

#include "bench/cancel.h"
#include "bench/comm.h"
#include "bench/stop_rule.h"
#include "bench/watchdog.h"

namespace cb {

// How one series is to be taken.
struct SamplePlan {
  StopRule stop = {};
  double warm_up_seconds = 1;     // at most
  uint64_t warm_up_samples = 50;  // at most
  bool together = true;   // all ranks take the same number of samples, each behind a barrier
  std::string what = {};  // for the watchdog, such as "all_reduce 64K float"
};

struct SampleRun {
  Samples seconds;       // per iteration, of this rank
  uint64_t warm_up = 0;  // iterations before the first sample
  double elapsed_seconds = 0;
};

// Owns warm-up, barrier, stop rule and time limit, so that a case never writes a timing loop.
class Sampler {
 public:
  Sampler(Comm& comm, Watchdog& watchdog, const CancelToken& cancel)
      : comm_(comm), watchdog_(watchdog), cancel_(cancel) {}

  // Times `once` again and again. With plan.together the ranks agree after growing batches of
  // iterations whether to go on (rank 0's samples decide), so the agreement is no part of any
  // sample. Throws Interrupted when cancelled; with plan.together on every rank after the same
  // iteration, although the signal came to one of them only.
  SampleRun measure(const SamplePlan& plan, const std::function<void()>& once);

  // As measure(), for an iteration that times itself: `once` returns its seconds.
  SampleRun measure_self_timed(const SamplePlan& plan, const std::function<double()>& once);

 private:
  uint64_t warm_up(const SamplePlan& plan, const std::function<double()>& once);
  void batch(const SamplePlan& plan, const std::function<double()>& once, uint64_t size,
             double start, SampleRun& run);
  bool agree_done(bool mine, bool together);
  Comm& comm_;
  Watchdog& watchdog_;
  const CancelToken& cancel_;
};

}  // namespace cb
