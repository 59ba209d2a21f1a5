#include "sys/tcp_socket.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"

namespace cb::net {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(fmt::format("{}: {}", what, std::strerror(error)));
}

sockaddr_in to_address(const std::string& address, uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &out.sin_addr) != 1)
    throw Error("'" + address + "' is no IPv4 address");
  return out;
}

Socket new_socket() {
  Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out.open()) fail("socket", errno);
  return out;
}

void bind_to(const Socket& socket, const std::string& address) {
  const sockaddr_in own = to_address(address, 0);
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)) != 0)
    fail("bind to " + address, errno);
}

// False past the deadline.
bool wait_for(const Socket& socket, short events, double end) {
  for (;;) {
    pollfd one{socket.fd(), events, 0};
    const double left = end - monotonic_seconds();
    if (left <= 0) return false;
    const int rc = ::poll(&one, 1, static_cast<int>(std::min(left, 10.0) * 1000) + 1);
    if (rc > 0) return true;
    if (rc < 0 && errno != EINTR) fail("poll", errno);
  }
}

std::string peer_of(const Socket& socket) {
  sockaddr_in peer{};
  socklen_t length = sizeof(peer);
  char text[INET_ADDRSTRLEN] = "an unknown peer";
  if (::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&peer), &length) == 0)
    ::inet_ntop(AF_INET, &peer.sin_addr, text, sizeof(text));
  return text;
}

int mtu_of(const std::string& name) {
  const Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  return socket.open() && ::ioctl(socket.fd(), SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

std::string Interface::network() const {
  in_addr a{};
  ::inet_pton(AF_INET, address.c_str(), &a);
  const uint32_t mask = prefix == 0 ? 0 : ~uint32_t{0} << static_cast<unsigned>(32 - prefix);
  a.s_addr = htonl(ntohl(a.s_addr) & mask);
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &a, text, sizeof(text));
  return fmt::format("{}/{}", text, prefix);
}

std::vector<Interface> ipv4_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) fail("getifaddrs", errno);
  std::vector<Interface> out;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET ||
        (i->ifa_flags & IFF_UP) == 0 || i->ifa_netmask == nullptr)
      continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* address = reinterpret_cast<const sockaddr_in*>(i->ifa_addr);
    ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
    const auto* mask = reinterpret_cast<const sockaddr_in*>(i->ifa_netmask);
    out.push_back({i->ifa_name, text, std::popcount(mask->sin_addr.s_addr), mtu_of(i->ifa_name),
                   (i->ifa_flags & IFF_LOOPBACK) != 0});
  }
  ::freeifaddrs(list);
  return out;
}

Socket listen_on(const std::string& address, int backlog) {
  Socket out = new_socket();
  bind_to(out, address);
  if (::listen(out.fd(), backlog) != 0) fail("listen on " + address, errno);
  return out;
}

uint16_t port_of(const Socket& socket) {
  sockaddr_in own{};
  socklen_t length = sizeof(own);
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    fail("getsockname", errno);
  return ntohs(own.sin_port);
}

Socket connect_to(const std::string& own_address, const std::string& address, uint16_t port,
                  double deadline_seconds) {
  const double end = monotonic_seconds() + deadline_seconds;
  const std::string what = fmt::format("connect from {} to {} port {}", own_address, address, port);
  Socket out = new_socket();
  bind_to(out, own_address);
  const int flags = ::fcntl(out.fd(), F_GETFL);
  ::fcntl(out.fd(), F_SETFL, flags | O_NONBLOCK);
  const sockaddr_in peer = to_address(address, port);
  if (::connect(out.fd(), reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0) {
    if (errno != EINPROGRESS) fail(what, errno);
    if (!wait_for(out, POLLOUT, end)) fail(what, ETIMEDOUT);
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(out.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) fail(what, error);
  }
  ::fcntl(out.fd(), F_SETFL, flags);
  return out;
}

Socket accept_one(const Socket& listener, double deadline_seconds) {
  if (!wait_for(listener, POLLIN, monotonic_seconds() + deadline_seconds))
    throw Error("no connection from the peer within the deadline");
  Socket out(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!out.open()) fail("accept", errno);
  return out;
}

void send_all(const Socket& socket, std::span<const std::byte> bytes, double deadline_seconds) {
  const double end = monotonic_seconds() + deadline_seconds;
  while (!bytes.empty()) {
    if (!wait_for(socket, POLLOUT, end))
      throw Error(peer_of(socket) + " takes nothing within the deadline");
    const ssize_t n = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail("send to " + peer_of(socket), errno);
    if (n > 0) bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void receive_all(const Socket& socket, std::span<std::byte> bytes, double deadline_seconds) {
  const double end = monotonic_seconds() + deadline_seconds;
  while (!bytes.empty()) {
    if (!wait_for(socket, POLLIN, end))
      throw Error(peer_of(socket) + " has not answered within the deadline");
    const ssize_t n = ::recv(socket.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n == 0) throw Error(peer_of(socket) + " has closed the connection");
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail("receive from " + peer_of(socket), errno);
    if (n > 0) bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void set_timeouts(const Socket& socket, double seconds) {
  timeval t{};
  t.tv_sec = static_cast<time_t>(seconds);
  t.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(t.tv_sec)) * 1e6);
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(socket.fd(), SOL_SOCKET, option, &t, sizeof(t));
}

void set_no_delay(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

std::optional<ConnectionInfo> connection_info(const Socket& socket) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (::getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  return ConnectionInfo{info.tcpi_total_retrans, info.tcpi_rtt * 1e-6,
                        uint64_t{info.tcpi_snd_cwnd} * info.tcpi_snd_mss};
}

bool ZeroCopySender::enable(const Socket& socket) {
  const int on = 1;
  return ::setsockopt(socket.fd(), SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) == 0;
}

long ZeroCopySender::send(const Socket& socket, std::span<const std::byte> bytes) {
  char control[128];
  msghdr notice{};
  notice.msg_control = control;
  notice.msg_controllen = sizeof(control);
  while (::recvmsg(socket.fd(), &notice, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
    notice.msg_controllen = sizeof(control);
  const ssize_t n = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_ZEROCOPY);
  // No more memory may be pinned (ulimit -l) until earlier sends are finished: copied this time.
  if (n < 0 && errno == ENOBUFS)
    return ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return n;
}

}  // namespace cb::net
