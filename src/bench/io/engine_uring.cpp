// One ring per thread: all free slots are queued and submitted with the same call that waits for
// completions, and one clock reading serves a batch of completions.
#include <vector>

#include "bench/io/buffer.h"
#include "bench/io/worker.h"
#include "core/clock.h"
#include "sys/uring.h"

namespace cb::io {
namespace {

// How long a wait may last before the worker looks whether it is to stop.
constexpr double kLongestWait = 0.5;

class UringLoop {
 public:
  explicit UringLoop(Worker& worker)
      : worker_(worker),
        ring_(worker.job().queue_depth, worker.fs()),
        buffers_(worker.job().queue_depth, worker.job().block_bytes),
        slots_(worker.job().queue_depth) {
    ring_.register_buffer(buffers_.whole());
    ring_.register_file(worker.fd());
    worker_.how = ring_.how();
    for (size_t i = 0; i < slots_.size(); ++i) slots_[i].data = buffers_.slot(i);
  }

  void run() {
    try {
      const double start = monotonic_seconds();
      for (size_t i = 0; i < slots_.size(); ++i) refill(i, start);
      while (in_flight_ > 0) turn();
    } catch (...) {
      drain();
      throw;
    }
  }

 private:
  void refill(size_t i, double now) {
    if (worker_.wrong || !worker_.next(slots_[i], now)) return;
    queue(i);
    ++in_flight_;
  }

  void queue(size_t i) {
    const Slot& slot = slots_[i];
    ring_.queue(slot.op.direction == Direction::write, worker_.fd(),
                {slot.data + slot.done, slot.op.length - slot.done}, slot.op.offset + slot.done, i);
  }

  void turn() {
    ring_.submit_and_wait(kLongestWait);
    const double now = monotonic_seconds();
    ring_.reap([&](uint64_t i, int result) {
      --in_flight_;
      if (failed_) return;
      try {
        if (worker_.complete(slots_[i], result, now)) {
          refill(i, now);
        } else {
          queue(i);
          ++in_flight_;
        }
      } catch (...) {
        failed_ = std::current_exception();
      }
    });
    if (failed_) std::rethrow_exception(failed_);
  }

  // The kernel may still write into the buffers: they live until every request has come back.
  void drain() {
    while (in_flight_ > 0) {
      ring_.submit_and_wait(kLongestWait);
      ring_.reap([&](uint64_t, int) { --in_flight_; });
    }
  }

  Worker& worker_;
  Uring ring_;
  SlotBuffers buffers_;
  std::vector<Slot> slots_;
  size_t in_flight_ = 0;
  std::exception_ptr failed_;
};

}  // namespace

void work_with_uring(Worker& worker, const std::function<void()>& start) {
  UringLoop loop(worker);
  start();
  loop.run();
}

}  // namespace cb::io
