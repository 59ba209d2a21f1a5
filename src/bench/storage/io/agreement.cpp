#include "bench/storage/io/agreement.h"

#include <chrono>
#include <exception>
#include <thread>

namespace cb::io {
namespace {

constexpr auto kPause = std::chrono::microseconds(200);

// Takes the largest stand of all ranks, then throws what this rank has to throw. Collective.
bool settle(Context& context, Stand mine, const std::exception_ptr& failure) {
  const auto worst = static_cast<Stand>(static_cast<int>(context.comm.max(static_cast<int>(mine))));
  if (worst == Stand::interrupted) throw Interrupted();
  if (failure) std::rethrow_exception(failure);
  return worst < Stand::failed;
}

}  // namespace

Stand Agreement::exchange(Stand mine) {
  if (over()) return known_;
  if (!round_) round_ = comm_.start_max(static_cast<int>(mine));
  const auto largest = round_->result();
  if (!largest) return known_;
  round_.reset();
  ++rounds_;
  known_ = static_cast<Stand>(static_cast<int>(*largest));
  if (!over()) round_ = comm_.start_max(static_cast<int>(mine));
  return known_;
}

Stand Agreement::conclude(const std::function<Stand()>& mine, const std::function<void()>& alive) {
  for (unsigned seen = rounds_;;) {
    const Stand known = exchange(mine());
    if (over()) return known;
    if (rounds_ != seen) alive();
    seen = rounds_;
    std::this_thread::sleep_for(kPause);
  }
}

bool all_well(Context& context, const std::function<void()>& step) {
  std::exception_ptr failure;
  Stand stand = Stand::done;
  try {
    step();
  } catch (const Interrupted&) {
    stand = Stand::interrupted;
  } catch (...) {
    stand = Stand::failed;
    failure = std::current_exception();
  }
  return settle(context, stand, failure);
}

bool all_well_together(Context& context, const std::function<bool(Agreement&)>& step) {
  Agreement agreement(context.comm);
  std::exception_ptr failure;
  Stand stand = Stand::done;
  try {
    if (!step(agreement)) stand = Stand::stop;
  } catch (const Interrupted&) {
    stand = Stand::interrupted;
  } catch (...) {
    stand = Stand::failed;
    failure = std::current_exception();
  }
  const auto mine = [&] { return context.cancel.cancelled() ? Stand::interrupted : stand; };
  agreement.conclude(mine, [&] { context.watchdog.progress(); });
  return settle(context, mine(), failure);
}

}  // namespace cb::io
