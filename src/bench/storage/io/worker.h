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

// What all workers of one run share. Times are those of clock.now().
struct Shared {
  const Job& job;
  const FileView& file;
  const FsRoot& fs;
  const TickClock clock;
  std::atomic<bool> stop{false};  // cancelled, or another worker failed
  double start = 0;               // start of the run; a job with a rate plans from it
  // Offset of the block that a faulty job writes wrong each time: the first one of its first
  // thread.
  std::optional<uint64_t> faulty_write = {};
  std::atomic<bool> write_spoilt{false};  // that block was given out to be written
  std::atomic<bool> spoil_read{false};    // spoil the next block that is read and compared
  // End of the warm-up; infinite until a job that waits for a steady state has found it.
  std::atomic<double> count_from{0};
  std::atomic<double> count_until{0};  // no request begins after this time
};

// The fault that a faulty job plants.
inline void spoil_block(std::byte* data, uint32_t length) { data[length / 2] ^= std::byte{0x40}; }

// The requests of one thread of the job; a lock guards them where several workers share them.
struct OpQueue {
  explicit OpQueue(const OpSource& requests) : source(requests) {}
  OpSource source;
  std::mutex mutex;
  double first_due = 0;  // seconds after the start; only with a rate
  double due_step = 0;   // seconds from one request to the next
  uint64_t planned = 0;
};

enum class Next { ready, later, none };

// One place for a request in flight.
struct Slot {
  std::byte* data = nullptr;
  Op op = {};
  uint32_t done = 0;  // bytes transferred so far: a transfer may be short
  // When it was to be submitted: when the slot became free, or with a rate at its planned time.
  double intended = 0;
  int64_t phase = -1;  // position of `data`'s random bytes in the pattern's period; -1: none
};

// What an engine needs around its requests: it gives the next request and the data to write, and
// counts and checks what came back. There is one per operating-system thread; workers share only
// Shared and OpQueue.
class Worker {
 public:
  Worker(Shared& shared, OpQueue& feed, bool feed_is_shared)
      : shared_(shared), feed_(feed), locked_(feed_is_shared) {}

  const Job& job() const { return shared_.job; }
  int fd() const { return shared_.file.fd; }
  const FileView& file() const { return shared_.file; }
  const FsRoot& fs() const { return shared_.fs; }
  double now() const { return shared_.clock.now(); }

  // Puts the next request into the slot, with its data ready to be written. `none`: the time is
  // over, the file was covered, or the run is being stopped. `later`: the job has a rate and no
  // request before due().
  Next next(Slot& slot, double now);
  double due() const { return due_; }  // time of the request for which next() said `later`
  // Sleeps until due(), but at most 0.1 s, so that a stop is noticed.
  void wait_until_due() const;

  // Takes a completion: bytes or -errno. Returns true if the slot is free, false if the transfer
  // was short and the rest must be requested again. Throws Error for a failed request.
  bool complete(Slot& slot, int64_t result, double now);

  // Tells the watchers how many bytes have come back; called once per batch.
  void tell_progress() { told_.store(finished_bytes_, std::memory_order_relaxed); }
  uint64_t told() const { return told_.load(std::memory_order_relaxed); }

  bool stopped() const { return shared_.stop.load(std::memory_order_relaxed); }

  std::array<Tally, 2> tally = {};
  std::array<uint64_t, 2> bytes = {};
  double last = 0;            // time at which the last counted completion was seen
  uint64_t finished_ios = 0;  // warm-up included
  uint64_t system_calls = 0;  // for finished_ios, if one call can serve several; else 0
  double cpu_seconds = 0;     // user and system time of this thread for finished_ios
  uint64_t blocks_checked = 0;
  std::optional<Mismatch> wrong = {};
  Said how;
  std::exception_ptr failure;

 private:
  std::optional<Op> take(double now);
  void check(const Slot& slot);
  void spoil(Slot& slot) const;

  Shared& shared_;
  OpQueue& feed_;
  bool locked_;
  double due_ = 0;
  uint64_t finished_bytes_ = 0;
  std::atomic<uint64_t> told_{0};  // only the worker writes it, so it needs no locked instruction
  uint64_t until_check_ = 0;       // reads left before the next one is checked
};

// The engines. `start` returns when all workers may begin. What comes before it is set-up and is
// not timed.
void work_with_uring(Worker& worker, const std::function<void()>& start);
void work_with_blocking_calls(Worker& worker, const std::function<void()>& start);
// Does all but the request itself, to show what the tool costs per request. Reads and writes
// nothing.
void work_with_nothing(Worker& worker, const std::function<void()>& start);

// "No space left on device (ENOSPC); next: free space, or lower --size".
Said failure_text(int error);
// The error of a failed request: the request, the error with its symbol, and what to do next.
IoError request_error(Direction direction, const Op& op, const std::string& path, int error);

}  // namespace cb::io
