#include "bench/storage/io/agreement.h"

#include <chrono>
#include <exception>
#include <thread>

namespace cb::io {
namespace {

constexpr auto kPause = std::chrono::microseconds(200);

// Takes the largest state of all ranks, then throws what this rank has to throw. Collective.
bool settle(Context& context, RunState mine, const std::exception_ptr& failure) {
  const auto worst =
      static_cast<RunState>(static_cast<int>(context.comm.max(static_cast<int>(mine))));
  if (worst == RunState::interrupted) throw Interrupted();
  if (failure) std::rethrow_exception(failure);
  return worst < RunState::failed;
}

}  // namespace

RunState Agreement::exchange(RunState mine) {
  if (over()) return known_;
  if (!round_) round_ = comm_.start_max(static_cast<int>(mine));
  const auto largest = round_->result();
  if (!largest) return known_;
  round_.reset();
  ++rounds_;
  known_ = static_cast<RunState>(static_cast<int>(*largest));
  if (!over()) round_ = comm_.start_max(static_cast<int>(mine));
  return known_;
}

RunState Agreement::conclude(const std::function<RunState()>& mine,
                             const std::function<void()>& alive) {
  for (unsigned seen = rounds_;;) {
    const RunState known = exchange(mine());
    if (over()) return known;
    if (rounds_ != seen) alive();
    seen = rounds_;
    std::this_thread::sleep_for(kPause);
  }
}

bool all_well(Context& context, const std::function<void()>& step) {
  std::exception_ptr failure;
  RunState state = RunState::done;
  try {
    step();
  } catch (const Interrupted&) {
    state = RunState::interrupted;
  } catch (...) {
    state = RunState::failed;
    failure = std::current_exception();
  }
  return settle(context, state, failure);
}

bool all_well_together(Context& context, const std::function<bool(Agreement&)>& step) {
  Agreement agreement(context.comm);
  std::exception_ptr failure;
  RunState state = RunState::done;
  try {
    if (!step(agreement)) state = RunState::stop;
  } catch (const Interrupted&) {
    state = RunState::interrupted;
  } catch (...) {
    state = RunState::failed;
    failure = std::current_exception();
  }
  const auto mine = [&] { return context.cancel.cancelled() ? RunState::interrupted : state; };
  agreement.conclude(mine, [&] { context.watchdog.progress(); });
  return settle(context, mine(), failure);
}

}  // namespace cb::io
