#include "bench/network/tcp/zero_copy.h"

#include <cerrno>

#include <ctime>  // linux/errqueue.h needs timespec

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "sys/net/tcp_socket.h"

namespace cb::tcp {
namespace {

constexpr uint64_t kReapEvery = 8;  // messages

}  // namespace

ZeroCopySender::ZeroCopySender(int fd) : fd_(fd) {
  const int on = 1;
  possible_ = setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0;
}

ssize_t ZeroCopySender::send(std::span<const std::byte> bytes, int flags) {
  const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_ZEROCOPY | flags);
  if (n >= 0) {
    if (++sent_ % kReapEvery == 0) reap();
    return n;
  }
  if (errno != ENOBUFS && errno != EAGAIN) return n;
  // The notices take memory of the socket (net.core.optmem_max): take them to make room.
  if (errno == ENOBUFS && flags == 0) {
    pollfd waiting{fd_, 0, 0};  // poll() reports POLLERR without being asked
    poll(&waiting, 1, kSocketSliceMs);
  }
  reap();
  errno = EAGAIN;
  return -1;
}

void ZeroCopySender::reap() {
  while (finished_ < sent_) {
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(sock_extended_err)) + 64];
    msghdr message = {};
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    if (recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      const bool ours = (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
                        (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR);
      const auto* error = reinterpret_cast<const sock_extended_err*>(CMSG_DATA(c));
      if (!ours || error->ee_origin != SO_EE_ORIGIN_ZEROCOPY) continue;
      const uint64_t count = uint64_t{error->ee_data - error->ee_info} + 1;  // messages of a notice
      finished_ += count;
      if ((error->ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0) copied_ += count;
    }
  }
}

}  // namespace cb::tcp
