// One ring per thread. One call submits the free slots and waits for completions, and one clock
// reading serves a batch of completions. A device that has little left to do gets the first of many
// requests before the last ones are prepared.
#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bench/storage/io/timer_pace.h"
#include "bench/storage/io/worker.h"
#include "sys/cpu/idle_tick.h"
#include "sys/storage/slot_buffers.h"
#include "sys/storage/uring.h"

namespace cb::io {
namespace {

// The longest wait for the next planned request: the worker then checks whether it has to stop.
constexpr double kMaxWait = 0.5;
// A shorter wait would last longer than asked (the kernel's timer slack), so none is made.
constexpr double kMinWait = 60e-6;

// Requests that are prepared before the device gets them, however little it has to do: with fewer,
// a small queue depth would need a system call for nearly each request.
constexpr size_t kMinSubmit = 4;

// The timer that keeps the processor's tick going lasts this share of a tick.
constexpr double kTimerShare = 0.75;
// The timer's tag. All other tags are slot numbers.
constexpr uint64_t kTimer = std::numeric_limits<uint64_t>::max();

class UringLoop {
 public:
  explicit UringLoop(Worker& worker)
      : worker_(worker),
        ring_(worker.job().queue_depth + 1, worker.fs(),
              {worker.job().poll, worker.file().nvme_namespace != 0}),
        buffers_(worker.job().queue_depth, worker.job().block_bytes),
        slots_(worker.job().queue_depth) {
    if (worker.file().nvme_namespace == 0) ring_.register_buffer(buffers_.whole());
    ring_.register_file(worker.fd());
    worker_.how = ring_.how();
    if (worker.file().nvme_namespace != 0) worker_.how = said("io.passthrough_too", worker_.how);
    for (size_t i = slots_.size(); i-- > 0;) {
      slots_[i].data = buffers_.slot(i);
      free_.push_back(i);
    }
    if (worker.job().poll == UringPoll::none) keep_tick();
  }

  void run() {
    try {
      double now = worker_.now();
      for (Next next = refill(now); in_flight_ > 0 || next == Next::later; next = refill(now)) {
        if (in_flight_ > 0) {
          turn(next, now);
        } else {
          worker_.wait_until_due();
        }
        now = worker_.now();
        if (in_flight_ > 0) take(now);
      }
      worker_.system_calls = ring_.calls();
    } catch (...) {
      drain();
      throw;
    }
  }

 private:
  // Runs a timer where each wait for the device would stop the tick and start it again.
  void keep_tick() {
    const auto tick = tick_that_idle_stops(worker_.fs());
    if (!tick) return;
    timer_seconds_ = kTimerShare * *tick;
    pace_.emplace(timer_seconds_);
    worker_.how = said("io.timer", worker_.how, fmt::format("{:g}", timer_seconds_ * 1e3));
  }

  void begin_timer() {
    ring_.queue_timer(timer_seconds_, kTimer);
    timer_runs_ = true;
  }

  void timer_ended(int result, double now) {
    timer_runs_ = false;
    if (result == -ETIME && pace_->go_on(worker_.finished_ios, now)) begin_timer();
  }

  // Queues the requests that may begin now. Returns why there is no more.
  Next refill(double now) {
    while (!free_.empty() && !worker_.wrong) {
      const size_t i = free_.back();
      const Next next = worker_.next(slots_[i], now);
      if (next != Next::ready) return next;
      free_.pop_back();
      queue(i);
      if (!free_.empty()) submit_early();
    }
    return worker_.wrong ? Next::none : Next::ready;
  }

  void queue(size_t i) {
    const Slot& slot = slots_[i];
    const std::span data{slot.data + slot.done, slot.op.length - slot.done};
    const FileView& file = worker_.file();
    if (file.nvme_namespace != 0) {
      ring_.queue_nvme_read(file.fd, file.nvme_namespace, data, slot.op.offset / file.nvme_block,
                            slot.op.length / file.nvme_block, i);
    } else {
      ring_.queue(slot.op.direction == Direction::write, file.fd, data, slot.op.offset + slot.done,
                  i);
    }
    ++in_flight_;
    ++held_;
  }

  // Submits when more requests are held back than half of what the device has to do: a device that
  // answers many at once would otherwise stand idle while all of them are prepared anew.
  void submit_early() {
    if (held_ < std::max(kMinSubmit, (in_flight_ - held_) / 2)) return;
    ring_.submit_and_wait(0);
    held_ = 0;
  }

  // Waits for completions, but not beyond the time of the next planned request. There is no other
  // limit: all requests in flight must come back before their buffers may go, and the watchdog of
  // the process watches for a device that never answers.
  void turn(Next next, double now) {
    const auto least = static_cast<unsigned>(std::min<size_t>(worker_.job().reap, in_flight_));
    held_ = 0;
    if (next != Next::later) return ring_.submit_and_wait(least);
    const double longest = std::clamp(worker_.due() - now, 0.0, kMaxWait);
    ring_.submit_and_wait_at_most(longest, longest < kMinWait ? 0 : least);
  }

  void take(double now) {
    ring_.reap([&](uint64_t i, int result) {
      if (i == kTimer) return timer_ended(result, now);
      --in_flight_;
      if (failed_) return;
      try {
        if (worker_.complete(slots_[i], bytes_of(slots_[i], result), now)) {
          free_.push_back(i);
        } else {
          queue(i);
        }
      } catch (...) {
        failed_ = std::current_exception();
      }
    });
    if (pace_ && !timer_runs_ && pace_->begin(worker_.finished_ios, now)) begin_timer();
    worker_.tell_progress();
    if (failed_) std::rethrow_exception(failed_);
  }

  // Passthrough returns 0, a status of the NVMe specification, or -errno.
  int64_t bytes_of(const Slot& slot, int result) const {
    if (worker_.file().nvme_namespace == 0) return result;
    if (result == 0) return slot.op.length;
    return result > 0 ? -EIO : result;
  }

  // The kernel may still write into the buffers, so they live until every request has come back.
  void drain() {
    while (in_flight_ > 0) {
      ring_.submit_and_wait();
      ring_.reap([&](uint64_t tag, int) { in_flight_ -= tag == kTimer ? 0 : 1; });
    }
  }

  Worker& worker_;
  Uring ring_;
  SlotBuffers buffers_;
  std::vector<Slot> slots_;
  std::vector<size_t> free_;
  size_t in_flight_ = 0;
  size_t held_ = 0;  // requests of in_flight_ that are queued and not yet submitted
  std::optional<TimerPace> pace_;
  double timer_seconds_ = 0;
  bool timer_runs_ = false;
  std::exception_ptr failed_;
};

}  // namespace

void work_with_uring(Worker& worker, const std::function<void()>& start) {
  UringLoop loop(worker);
  start();
  loop.run();
}

}  // namespace cb::io
