#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cb::tcp {

// Sends with MSG_ZEROCOPY: the kernel reads the caller's pages. Later the kernel tells through the
// socket's error queue that it has finished with them (Documentation/networking/msg_zerocopy.rst).
// The caller must never change the bytes of a message that it has sent.
class ZeroCopySender {
 public:
  explicit ZeroCopySender(int fd);
  bool possible() const { return possible_; }
  // Works like ::send(): returns the bytes taken, or -1 with errno. `flags` is MSG_DONTWAIT or 0.
  // If there is no room for more notices, it says EAGAIN; with flags 0 it first waits for notices,
  // at most the socket's time slice.
  ssize_t send(std::span<const std::byte> bytes, int flags);
  // Takes the notices that have arrived.
  void reap();
  // Number of messages that the kernel copied after all: loopback, veth, a NIC without
  // scatter-gather.
  uint64_t copied() const { return copied_; }
  uint64_t finished() const { return finished_; }

 private:
  int fd_;
  bool possible_;
  uint64_t sent_ = 0, finished_ = 0, copied_ = 0;
};

}  // namespace cb::tcp
