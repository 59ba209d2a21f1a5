#include "bench/training/cuda/gpu_lane.h"

#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"

namespace cb::training {
namespace {

// A GPU that hangs is found by its own rank first, which says so.
double limit_of(double hang_after) { return 1.25 * hang_after + 2; }

// Seconds; a longer wait is what this rank is doing, should somebody end the job.
constexpr double kToldAfter = 1;

}  // namespace

Lane::Lane(const LaneTools& tools, const GroupComm& group, Said ranks)
    : tools_(tools), ranks_(std::move(ranks)) {
  auto gpu = std::make_unique<nccl::Gpu>(tools.unit.device);
  gpu_ = gpu.get();
  devices_.push_back(std::move(gpu));
  const nccl::CommOptions options{.wait_seconds = limit_of(tools.hang_after)};
  try {
    comms_ = std::make_unique<nccl::Communicators>(tools.library, tools.context, group, devices_,
                                                   options);
  } catch (const Error& e) {
    what_ = "making the communicator";
    fail(e.said());
  }
}

void Lane::start(const char* what, const Call& call) {
  Queued& next = queue_next(what);
  tools_.queue.queue([&] {
    next.ready.record(tools_.queue.stream());
    next.ready.hold(gpu_->queue());
  });
  try {
    comms_->grouped(what, [&](size_t) { return call(comms_->comm(0), gpu_->stream()); });
  } catch (const Error& e) {
    fail(e.said());
  }
  gpu_->mark();
  next.ended.record(gpu_->queue());
  next.whole = true;
}

Lane::Queued& Lane::queue_next(const char* what) {
  drop_ended();
  what_ = what;
  if (free_.empty()) free_.emplace_back();
  queued_.push_back(std::move(free_.back()));
  free_.pop_back();
  queued_.back().what = what;
  queued_.back().whole = false;
  return queued_.back();
}

void Lane::drop_ended() {
  while (!queued_.empty() && queued_.front().whole && tools_.queue.reached(queued_.front().ended)) {
    free_.push_back(std::move(queued_.front()));
    queued_.pop_front();
    since_ = 0;
  }
}

// All in the stream that computes, whose order is that of the exchanges.
void Lane::record_call(const char* what, const Call& call) {
  recorded_ = true;
  comms_->grouped(what, [&](size_t) {
    return call(comms_->comm(0), static_cast<nccl::abi::Stream>(tools_.queue.stream().handle()));
  });
}

void Lane::before_launch() {
  if (!recorded_) return;
  Queued& next = queue_next("an exchange of a recorded step");
  tools_.queue.queue([&] { next.ready.record(tools_.queue.stream()); });
}

void Lane::behind_launch() {
  if (!recorded_) return;
  tools_.queue.queue([&] {
    launched_.record(tools_.queue.stream());
    launched_.hold(gpu_->queue());
  });
  gpu_->mark();
  queued_.back().ended.record(gpu_->queue());
  queued_.back().whole = true;
}

bool Lane::exchanging() {
  if (tools_.queue.lost()) return false;
  drop_ended();
  return !queued_.empty() && tools_.queue.reached(queued_.front().ready);
}

void Lane::run(const char* what, const Call& call) {
  if (tools_.queue.recording()) return record_call(what, call);
  tools_.queue.begin(Work::communication);
  start(what, call);
  tools_.queue.queue([&] { gpu_->marked().hold(tools_.queue.stream()); });
}

void Lane::look() {
  if (tools_.queue.lost()) return settled();
  drop_ended();
  if (queued_.empty()) return settled();
  try {
    static_cast<void>(comms_->done(what_));
  } catch (const Error& e) {
    fail(e.said());
  }
  // Before that the GPU itself is late, which the wait for its computing tells.
  if (!tools_.queue.reached(queued_.front().ready)) return;
  what_ = queued_.front().what;
  const double now = monotonic_seconds();
  if (since_ == 0) since_ = now;
  if (now - since_ > kToldAfter && !std::exchange(told_, true))
    tools_.context.watchdog.note(fmt::format("waiting for {}", doing()));
  if (now - since_ > limit_of(tools_.hang_after)) hang();
}

void Lane::settled() {
  since_ = 0;
  if (std::exchange(told_, false))
    tools_.context.watchdog.note(fmt::format("computing after {}", doing()));
}

std::string Lane::doing() const {
  return fmt::format("{} of {} on {} ({})", what_, ranks_.text(), entity_name(tools_.unit.entity),
                     tools_.unit.device.uuid);
}

Said Lane::failure(const Said& why) const {
  return said("train.exchange_failed", entity_name(tools_.unit.entity), tools_.unit.device.uuid,
              what_, ranks_, why);
}

void Lane::fail(const Said& why) {
  tools_.queue.abandon();
  throw ExchangeError(failure(why));
}

// The watchdog ends the job and says where each rank was.
void Lane::hang() {
  tools_.queue.abandon();
  try {
    comms_->give_up(what_);
  } catch (const Error& e) {
    throw ExchangeError(failure(e.said()), e.code());
  }
}

LanePoint::~LanePoint() {
  try {
    wait();
  } catch (const std::exception&) {
    lane_.tools().queue.abandon();  // its memory is left behind
  }
}

bool LanePoint::done() {
  if (done_) return true;
  done_ = lane_.tools().queue.reached(at_);
  if (done_)
    lane_.tools().context.watchdog.alive();
  else
    lane_.look();
  return done_;
}

void LanePoint::wait() {
  const Watchdog::Waiting waiting(told());
  while (!lane_.tools().queue.lost() && !done()) std::this_thread::yield();
}

}  // namespace cb::training
