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
  what_ = what;
  since_ = 0;
  tools_.queue.queue([&] {
    ready_.record(tools_.queue.stream());
    ready_.hold(gpu_->queue());
  });
  try {
    comms_->grouped(what, [&](size_t) { return call(comms_->comm(0), gpu_->stream()); });
  } catch (const Error& e) {
    fail(e.said());
  }
  gpu_->mark();
}

void Lane::run(const char* what, const Call& call) {
  tools_.queue.begin(Work::communication);
  start(what, call);
  tools_.queue.queue([&] { gpu_->marked().hold(tools_.queue.stream()); });
}

void Lane::look() {
  if (tools_.queue.lost() || tools_.queue.reached(gpu_->marked())) return settled();
  try {
    static_cast<void>(comms_->done(what_));
  } catch (const Error& e) {
    fail(e.said());
  }
  // Before that the GPU itself is late, which the wait for its computing tells.
  if (!tools_.queue.reached(ready_)) return;
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
    lane_.tools().context.watchdog.progress();
  else
    lane_.look();
  return done_;
}

void LanePoint::wait() {
  while (!lane_.tools().queue.lost() && !done()) std::this_thread::yield();
}

}  // namespace cb::training
