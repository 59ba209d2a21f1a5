#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "bench/io/run.h"

namespace cb::io {

// What all workers of one run look at. Times are monotonic_seconds().
struct Shared {
  const Job& job;
  const FileView& file;
  const FsRoot& fs;
  std::atomic<bool> stop{false};      // cancelled, or another worker failed
  std::atomic<uint64_t> finished{0};  // bytes, for the progress
  double count_from = 0;              // end of the warm-up
  double count_until = 0;             // no request is begun after it
};

// The requests of one thread of the job, behind a lock where several workers share them.
struct Feed {
  explicit Feed(const OpSource& requests) : source(requests) {}
  OpSource source;
  std::mutex mutex;
};

// One place for a request in flight.
struct Slot {
  std::byte* data = nullptr;
  Op op = {};
  uint32_t done = 0;    // bytes, after a short transfer
  double intended = 0;  // when it was to be submitted: the moment the slot became free
  int64_t phase = -1;   // of the random bytes that `data` holds, modulo Pattern::kPeriod
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
  const FsRoot& fs() const { return shared_.fs; }

  // Puts the next request into the slot, its data ready to be written. False when there is none:
  // the time is over, the file was covered, or the run is being stopped.
  bool next(Slot& slot, double now);

  // Takes a completion: bytes or -errno. True if the slot is free, false if a short transfer left a
  // rest to be requested again. Throws Error for a failed request.
  bool complete(Slot& slot, int64_t result, double now);

  bool stopped() const { return shared_.stop.load(std::memory_order_relaxed); }

  std::array<Tally, 2> tally = {};
  std::array<uint64_t, 2> bytes = {};
  double last = 0;  // completion seen
  uint64_t blocks_checked = 0;
  std::optional<Mismatch> wrong = {};
  std::string how;
  std::exception_ptr failure;

 private:
  std::optional<Op> take();
  void check(const Slot& slot);

  Shared& shared_;
  Feed& feed_;
  bool locked_;
  uint64_t reads_ = 0;
};

// The engines. `start` returns when all workers may begin; what comes before it is set-up and not
// timed.
void work_with_uring(Worker& worker, const std::function<void()>& start);
void work_with_blocking_calls(Worker& worker, const std::function<void()>& start);

// The error of a failed request, with what to do next.
Error request_error(Direction direction, const Op& op, const std::string& path, int error);

}  // namespace cb::io
