#pragma once

#include <functional>
#include <memory>

#include "bench/harness/case.h"

// How ranks that work for long in one step know of each other, without waiting for each other.
namespace cb::io {

// What a rank says of itself; of all ranks the largest counts.
enum class Stand {
  done = 0,      // its part of the step is finished
  working = 1,   // and ready to be counted
  unsteady = 2,  // works, but waits for a steady state before it counts
  stop = 3,      // a request of it failed or data was wrong: all are to stop
  failed = 4,    // it threw
  interrupted = 5
};

// Rounds of a reduction in the background, from the start of a step to its end on the last rank.
class Agreement {
 public:
  explicit Agreement(Comm& comm) : comm_(comm) {}

  // Brings this rank's stand into a round and returns the outcome of the last round that is
  // complete; `unsteady` before there is one. Never waits. Once the ranks are all done, or one
  // wants a stop, that outcome stays.
  Stand exchange(Stand mine);

  // Goes on with a rank that has ended its part until exchange() has a last outcome; `alive` is
  // called for each complete round.
  Stand conclude(const std::function<Stand()>& mine, const std::function<void()>& alive);

 private:
  bool over() const { return known_ == Stand::done || known_ >= Stand::stop; }

  Comm& comm_;
  std::unique_ptr<PendingMax> round_;
  Stand known_ = Stand::unsteady;
  unsigned rounds_ = 0;
};

// One rank's step of several: either every rank went well (true), or each that failed throws its
// error and the others return false; an interrupt of any stops all. Collective.
bool all_well(Context& context, const std::function<void()>& step);

// The same for a step that takes long: it asks the agreement now and then, and returns whether its
// own run was good; if not, the others are told to stop, and the step is a success all the same,
// since a run that failed is a result. That a rank waits for slower ones is no stall as long as
// these answer; who does not is found by the watchdog of every rank.
bool all_well_together(Context& context, const std::function<bool(Agreement&)>& step);

}  // namespace cb::io
