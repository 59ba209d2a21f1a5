#pragma once

#include <functional>
#include <memory>

#include "bench/harness/case.h"

// Ranks that work for long in one step tell each other how they stand, without waiting.
namespace cb::io {

// What a rank says of itself. The largest state of all ranks counts.
enum class RunState {
  done = 0,      // this rank's part of the step is finished
  working = 1,   // this rank works and is ready to be counted
  unsteady = 2,  // this rank works, but waits for a steady state before it counts
  stop = 3,      // one of its requests failed or data was wrong: all ranks are to stop
  failed = 4,    // this rank threw
  interrupted = 5
};

// Rounds of a reduction in the background, from the start of a step to its end on the last rank.
class Agreement {
 public:
  explicit Agreement(Comm& comm) : comm_(comm) {}

  // Brings this rank's state into a round and returns the outcome of the last complete round, or
  // `unsteady` before there is one. Never waits. The outcome is final once all ranks are done or
  // one of them wants a stop.
  RunState exchange(RunState mine);

  // For a rank that has ended its part: repeats exchange() until the outcome is final. Calls
  // `alive` for each complete round.
  RunState conclude(const std::function<RunState()>& mine, const std::function<void()>& alive);

 private:
  bool over() const { return known_ == RunState::done || known_ >= RunState::stop; }

  Comm& comm_;
  std::unique_ptr<PendingMax> round_;
  RunState known_ = RunState::unsteady;
  unsigned rounds_ = 0;
};

// Runs one step on every rank. Returns true if every rank succeeded. If not, each rank that failed
// throws its error and the others return false. An interrupt of any rank throws Interrupted on all.
// Collective.
bool all_well(Context& context, const std::function<void()>& step);

// all_well() for a step that takes long. The step consults the agreement now and then and returns
// whether its own run was good. If it was not, the other ranks are told to stop, and the step still
// counts as a success, since a run that failed is a result. A rank that waits for slower ranks does
// not stall as long as they answer; the watchdog of every rank finds those that do not.
bool all_well_together(Context& context, const std::function<bool(Agreement&)>& step);

}  // namespace cb::io
