#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cb::tcp {

// Sends with MSG_ZEROCOPY: the kernel reads the caller's pages and says later, through the socket's
// error queue, that it is done with them (Documentation/networking/msg_zerocopy.rst). The caller
// never changes the bytes of a message that it has sent.
class ZeroCopySender {
 public:
  explicit ZeroCopySender(int fd);
  bool possible() const { return possible_; }
  // As ::send(): the bytes taken, or -1 with errno. `flags`: MSG_DONTWAIT or 0. Without room for
  // more notices it waits for some within the socket's time slice, unless it is not to wait, and
  // says EAGAIN.
  ssize_t send(std::span<const std::byte> bytes, int flags);
  // Takes the notices that are there.
  void reap();
  // Messages that the kernel copied after all: loopback, veth, a NIC without scatter-gather.
  uint64_t copied() const { return copied_; }
  uint64_t finished() const { return finished_; }

 private:
  int fd_;
  bool possible_;
  uint64_t sent_ = 0, finished_ = 0, copied_ = 0;
};

}  // namespace cb::tcp
