#include "sys/net/poll_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {
namespace {

// An address with its length, of either family.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

bool parse_address(const std::string& text, uint16_t port, Address& out) {
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out.length = sizeof(sockaddr_in);
    return true;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) != 1) return false;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  out.length = sizeof(sockaddr_in6);
  return true;
}

Socket new_socket(int family) {
  Socket out(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (out.open()) setsockopt(out.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return out;
}

// Returns an interface's address as numbers; "" for loopback, link-local and other families.
std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    const uint32_t bits = ntohl(v4->sin_addr.s_addr);
    if ((bits >> 24) == 127 || (bits >> 16) == 0xa9fe) return "";
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    if (IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) return "";
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
  }
  return text;
}

long moved(ssize_t result) {
  if (result > 0) return result;
  if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
  return -1;
}

}  // namespace

Socket accept_waiting(const Socket& listener) {
  return Socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Socket start_connect(const std::string& address, uint16_t port) {
  Address to;
  if (!parse_address(address, port, to)) return Socket();
  Socket out = new_socket(to.storage.ss_family);
  if (out.open() && ::connect(out.fd(), to.get(), to.length) != 0 && errno != EINPROGRESS)
    out.close();
  return out;
}

bool connected(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

std::vector<std::string> local_addresses(std::string_view interface) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<std::string> out;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    if (!interface.empty() && interface != i->ifa_name) continue;
    if (std::string text = address_text(i->ifa_addr); !text.empty()) out.push_back(std::move(text));
  }
  if (out.empty() && !interface.empty())
    throw UsageError("clusterbench", "CLUSTERBENCH_INTERFACE",
                     fmt::format("there is no interface {} with an address that is up", interface));
  std::stable_partition(out.begin(), out.end(),
                        [](const std::string& a) { return a.find(':') == std::string::npos; });
  return out;
}

long read_some(const Socket& socket, char* to, size_t size) {
  return moved(::recv(socket.fd(), to, size, 0));
}

long write_some(const Socket& socket, std::string_view bytes) {
  if (bytes.empty()) return 0;
  return moved(::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

void wait_for_any(std::vector<Watched>& sockets, double seconds) {
  std::vector<pollfd> list;
  list.reserve(sockets.size());
  for (const Watched& w : sockets)
    list.push_back({w.fd, static_cast<short>(POLLIN | (w.want_write ? POLLOUT : 0)), 0});
  ::poll(list.data(), list.size(), static_cast<int>(seconds * 1000));
  for (size_t i = 0; i < list.size(); ++i) {
    sockets[i].readable = (list[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
    sockets[i].writable = (list[i].revents & (POLLOUT | POLLERR)) != 0;
  }
}

void allow_open_files(uint64_t count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace cb
