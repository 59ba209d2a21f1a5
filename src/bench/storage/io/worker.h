#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "bench/storage/io/run.h"
#include "sys/cpu/tick_clock.h"

namespace cb::io {

// What all workers of one run look at. Times are clock.now().
struct Shared {
  const Job& job;
  const FileView& file;
  const FsRoot& fs;
  const TickClock clock;
  std::atomic<bool> stop{false};  // cancelled, or another worker failed
  double start = 0;               // of the schedule of a job with a rate
  // The block that a faulty job writes wrong, whenever it does: the first one of its first thread.
  std::optional<uint64_t> faulty_write = {};
  std::atomic<bool> spoil_read{false};  // the next block that is read and compared
  // End of the warm-up; infinite until a job that waits for a steady state has found it.
  std::atomic<double> count_from{0};
  std::atomic<double> count_until{0};  // no request is begun after it
};

// The requests of one thread of the job, behind a lock where several workers share them.
struct Feed {
  explicit Feed(const OpSource& requests) : source(requests) {}
  OpSource source;
  std::mutex mutex;
  double first_due = 0;  // seconds after the start; with a rate only
  double due_step = 0;   // from one request to the next
  uint64_t planned = 0;
};

enum class Next { ready, later, none };

// One place for a request in flight.
struct Slot {
  std::byte* data = nullptr;
  Op op = {};
  uint32_t done = 0;  // bytes, after a short transfer
  // When it was to be submitted: the moment the slot became free; with a rate when its turn came.
  double intended = 0;
  int64_t phase = -1;  // of the random bytes that `data` holds, modulo the pattern's period
};

// What an engine needs around its requests: what comes next, what data to write, how to count and
// check what came back. One per operating-system thread; nothing in it is shared but Shared and
// Feed.
class Worker {
 public:
  Worker(Shared& shared, Feed& feed, bool feed_is_shared)
      : shared_(shared), feed_(feed), locked_(feed_is_shared) {}

  const Job& job() const { return shared_.job; }
  int fd() const { return shared_.file.fd; }
  const FileView& file() const { return shared_.file; }
  const FsRoot& fs() const { return shared_.fs; }
  double now() const { return shared_.clock.now(); }

  // Puts the next request into the slot, its data ready to be written. `none`: the time is over,
  // the file was covered, or the run is being stopped. `later`: a job with a rate has none before
  // due().
  Next next(Slot& slot, double now);
  double due() const { return due_; }  // of the request that next() said is for later
  // Sleeps until due(), or until a moment to look whether the run is being stopped.
  void wait_until_due() const;

  // Takes a completion: bytes or -errno. True if the slot is free, false if a short transfer left a
  // rest to be requested again. Throws Error for a failed request.
  bool complete(Slot& slot, int64_t result, double now);

  // Tells the watchers what has come back; once per batch.
  void tell_progress() { told_.store(finished_bytes_, std::memory_order_relaxed); }
  uint64_t told() const { return told_.load(std::memory_order_relaxed); }

  bool stopped() const { return shared_.stop.load(std::memory_order_relaxed); }

  std::array<Tally, 2> tally = {};
  std::array<uint64_t, 2> bytes = {};
  double last = 0;            // completion seen
  uint64_t finished_ios = 0;  // warm-up included
  uint64_t system_calls = 0;  // for these, where one can serve several; else 0
  double cpu_seconds = 0;     // of this thread, user and system, over all of these
  uint64_t blocks_checked = 0;
  std::optional<Mismatch> wrong = {};
  Said how;
  std::exception_ptr failure;

 private:
  std::optional<Op> take(double now);
  void check(const Slot& slot);
  void spoil(Slot& slot) const;

  Shared& shared_;
  Feed& feed_;
  bool locked_;
  double due_ = 0;
  uint64_t finished_bytes_ = 0;
  std::atomic<uint64_t> told_{0};  // written by the worker alone, so without a locked instruction
  uint64_t until_check_ = 0;       // reads
};

// The engines. `start` returns when all workers may begin; what comes before it is set-up and not
// timed.
void work_with_uring(Worker& worker, const std::function<void()>& start);
void work_with_blocking_calls(Worker& worker, const std::function<void()>& start);
// All but the request itself: what the tool costs per request. Nothing is read or written.
void work_with_nothing(Worker& worker, const std::function<void()>& start);

// "No space left on device (ENOSPC); next: free space, or lower --size".
Said failure_text(int error);
// A request that failed: what it was, the error with its symbol, and what to do next.
IoError request_error(Direction direction, const Op& op, const std::string& path, int error);

}  // namespace cb::io
