#pragma once

#include <liburing.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/error.h"
#include "sys/os/fs_root.h"

// The one header through which io_uring is called (liburing).
namespace cb {

// The kernel, a sysctl or a sandbox does not allow this process a ring. The text says which.
class UringUnavailable : public Error {
 public:
  using Error::Error;
};

// How completions are detected: by interrupt, by polling the device (IOPOLL: direct IO on a device
// with poll queues), or with a kernel thread that takes requests without a system call (SQPOLL:
// costs a core).
enum class UringPoll { none, iopoll, sqpoll };

struct UringOptions {
  UringPoll poll = UringPoll::none;
  bool wide = false;  // entries of twice the size (SQE128, CQE32), which NVMe passthrough needs
};

// One ring, used only by the thread that made it. It has the cheapest completion mode that the
// kernel knows: SINGLE_ISSUER + DEFER_TASKRUN (6.1), SINGLE_ISSUER + COOP_TASKRUN (6.0),
// COOP_TASKRUN (5.19), none; with SQPOLL, which excludes task-run modes, SINGLE_ISSUER or none.
class Uring {
 public:
  // `entries`: number of requests that can be queued at once. Throws UringUnavailable.
  Uring(unsigned entries, const FsRoot& fs, UringOptions options = {});
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // Save time per request. They return false if the kernel refuses; all works without them.
  bool register_buffer(std::span<std::byte> whole);
  bool register_file(int fd);

  // Queues a read into `data`, or a write from it. Throws Error if the ring has no free entry.
  void queue(bool write, int fd, std::span<std::byte> data, uint64_t offset, uint64_t tag);

  // Queues an NVMe read of whole logical blocks from a generic character device (/dev/ngXnY); the
  // ring must be wide.
  void queue_nvme_read(int fd, uint32_t nsid, std::span<std::byte> data, uint64_t first_block,
                       uint32_t blocks, uint64_t tag);

  // Queues a timer that completes with `tag` after `seconds`, counted from its submission. Only one
  // timer can be active.
  void queue_timer(double seconds, uint64_t tag);

  // Submits what is queued and waits for `least` completions. Returning with fewer (after a signal)
  // is no error. Throws Error if the kernel refuses. A device that never answers blocks it for
  // ever.
  void submit_and_wait(unsigned least = 1);
  // Does the same, but waits at most `seconds`, which costs a timer in the kernel.
  void submit_and_wait_at_most(double seconds, unsigned least = 1);

  // Calls take(tag, result) for each completion that is ready; result is bytes or -errno. Returns
  // the number of completions. `take` may queue requests.
  template <typename Take>
  unsigned reap(Take&& take) {
    std::array<io_uring_cqe*, 128> ready;
    const unsigned count =
        io_uring_peek_batch_cqe(&ring_, ready.data(), static_cast<unsigned>(ready.size()));
    for (unsigned i = 0; i < count; ++i) {
      const uint64_t tag = ready[i]->user_data;
      take(tag, ready[i]->res);
    }
    io_uring_cq_advance(&ring_, count);
    return count;
  }

  // Number of system calls that the two wait functions above have made.
  uint64_t calls() const { return calls_; }

  // "SINGLE_ISSUER DEFER_TASKRUN, registered ring, registered buffers, registered file".
  Said how() const;

 private:
  io_uring ring_{};
  __kernel_timespec timer_{};
  std::string flags_;
  uint64_t calls_ = 0;
  bool fixed_ring_ = false;
  bool fixed_buffer_ = false;
  bool fixed_file_ = false;
};

// Says why a ring with this many entries is impossible here; nothing if it is possible.
std::optional<Said> why_no_uring(unsigned entries, const FsRoot& fs);

}  // namespace cb
