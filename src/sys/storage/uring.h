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

// The kernel, a sysctl or a sandbox does not let this process have a ring; the text says which.
class UringUnavailable : public Error {
 public:
  using Error::Error;
};

// How completions come about: by interrupt, by polling the device (IOPOLL: direct IO on a device
// with poll queues), or with a thread of the kernel that takes requests without a system call
// (SQPOLL: costs a core).
enum class UringPoll { none, iopoll, sqpoll };

struct UringOptions {
  UringPoll poll = UringPoll::none;
  bool wide = false;  // entries of twice the size (SQE128, CQE32), as NVMe passthrough needs
};

// One ring, for the one thread that made it. Set up with the cheapest completion mode that the
// kernel knows: SINGLE_ISSUER + DEFER_TASKRUN (6.1), SINGLE_ISSUER + COOP_TASKRUN (6.0),
// COOP_TASKRUN (5.19), none; with SQPOLL, which excludes task-run modes, SINGLE_ISSUER or none.
class Uring {
 public:
  // `entries`: requests that may be queued at once. Throws UringUnavailable.
  Uring(unsigned entries, const FsRoot& fs, UringOptions options = {});
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // Optional savings per request; false where the kernel refuses, and all works without.
  bool register_buffer(std::span<std::byte> whole);
  bool register_file(int fd);

  // Queues a read into, or a write from, `data`. Throws Error if the ring has no free entry.
  void queue(bool write, int fd, std::span<std::byte> data, uint64_t offset, uint64_t tag);

  // Queues an NVMe read of whole logical blocks from a generic character device (/dev/ngXnY); the
  // ring must be wide.
  void queue_nvme_read(int fd, uint32_t nsid, std::span<std::byte> data, uint64_t first_block,
                       uint32_t blocks, uint64_t tag);

  // Queues a timer that completes with `tag` after that time, counted from its submission; one at a
  // time.
  void queue_timer(double seconds, uint64_t tag);

  // Submits what is queued and waits for `least` completions; coming back with fewer (signal) is
  // no error. Throws Error when the kernel refuses. A device that never answers holds it for ever.
  void submit_and_wait(unsigned least = 1);
  // The same for at most `seconds`, which costs a timer in the kernel.
  void submit_and_wait_at_most(double seconds, unsigned least = 1);

  // Calls take(tag, result) for each completion that is there; result is bytes or -errno. Returns
  // how many there were. `take` may queue.
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

  // System calls by the two functions above.
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

// Why a ring of that many entries cannot be had here; nothing if it can.
std::optional<Said> why_no_uring(unsigned entries, const FsRoot& fs);

}  // namespace cb
