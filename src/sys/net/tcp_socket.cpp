#include "sys/net/tcp_socket.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "sys/inventory/inventory.h"

namespace cb {
namespace {

struct Endpoint {
  sockaddr_storage storage = {};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::optional<Endpoint> endpoint(const std::string& address, int port) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return std::nullopt;
  Endpoint out;
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.length = found->ai_addrlen;
  freeaddrinfo(found);
  return out;
}

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = {};
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 16) == 0xa9fe;  // 169.254.0.0/16
  }
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

[[noreturn]] void fail(const char* call) {
  throw Error(fmt::format("{}: {}", call, std::strerror(errno)));
}

void set_option(int fd, int level, int option, int value, const char* what) {
  if (setsockopt(fd, level, option, &value, sizeof value) != 0) fail(what);
}

// The kernel keeps half of it for its own accounting, and limits it to net.core.{w,r}mem_max.
// buffer_sizes() reads the result.
void set_buffers(int fd, uint64_t bytes) {
  if (bytes == 0) return;
  const int value = static_cast<int>(std::min<uint64_t>(bytes, INT32_MAX / 2));
  set_option(fd, SOL_SOCKET, SO_SNDBUF, value, "SO_SNDBUF");
  set_option(fd, SOL_SOCKET, SO_RCVBUF, value, "SO_RCVBUF");
}

int port_of(int fd) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) fail("getsockname");
  const uint16_t port = storage.ss_family == AF_INET6
                            ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                            : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port;
  return ntohs(port);
}

void finish_connecting(int fd, double seconds) {
  pollfd waiting{fd, POLLOUT, 0};
  const int ready = poll(&waiting, 1, static_cast<int>(std::ceil(seconds * 1000)));
  if (ready < 0) fail("poll");
  if (ready == 0) throw Error(said("tcp.no_answer", fmt::format("{:.1f}", seconds)));
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) fail("SO_ERROR");
  if (error != 0) throw Error(std::strerror(error));
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) fail("getifaddrs");
  std::vector<InterfaceAddress> out;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const int family = i->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || is_link_local(i->ifa_addr)) continue;
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    out.push_back({i->ifa_name, numeric(i->ifa_addr, length), (i->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  return out;
}

std::optional<std::string> source_address_towards(const std::string& address) {
  const auto peer = endpoint(address, 9);  // any port will do: nothing is sent
  if (!peer) return std::nullopt;
  const Socket probe(socket(peer->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.open() || connect(probe.fd(), peer->get(), peer->length) != 0) return std::nullopt;
  sockaddr_storage mine = {};
  socklen_t length = sizeof mine;
  if (getsockname(probe.fd(), reinterpret_cast<sockaddr*>(&mine), &length) != 0)
    return std::nullopt;
  return numeric(reinterpret_cast<const sockaddr*>(&mine), length);
}

InterfaceLink interface_link(const FsRoot& fs, const std::string& interface) {
  const std::string dir = "/sys/class/net/" + interface + "/";
  InterfaceLink out;
  if (const auto mtu = fs.integer(dir + "mtu")) out.mtu_bytes = static_cast<int>(*mtu);
  out.ethernet = fs.integer(dir + "type") == 1;  // ARPHRD_ETHER
  const auto speed = fs.integer(dir + "speed");  // Mbit/s; -1 or unreadable if unknown
  if ((fs.exists(dir + "device") || fs.exists(dir + "bonding")) && speed && *speed > 0)
    out.bits_per_second = static_cast<double>(*speed) * 1e6;
  return out;
}

Listener listen_at(const std::string& address, int backlog, uint64_t buffer_bytes) {
  const auto here = endpoint(address, 0);
  if (!here) throw Error("is no address");
  Listener out{
      Socket(socket(here->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  if (!out.socket.open()) fail("socket");
  const int fd = out.socket.fd();
  set_buffers(fd, buffer_bytes);  // accepted sockets inherit the sizes
  if (bind(fd, here->get(), here->length) != 0) fail("bind");
  if (listen(fd, backlog) != 0) fail("listen");
  out.port = port_of(fd);
  return out;
}

Socket connect_to(const std::string& address, int port, const std::string& source, double seconds,
                  uint64_t buffer_bytes) {
  const auto peer = endpoint(address, port);
  if (!peer) throw Error("is no address");
  Socket out(socket(peer->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.open()) fail("socket");
  set_buffers(out.fd(), buffer_bytes);
  if (!source.empty()) {
    const auto mine = endpoint(source, 0);
    if (!mine || bind(out.fd(), mine->get(), mine->length) != 0) fail("bind");
  }
  if (connect(out.fd(), peer->get(), peer->length) != 0) {
    if (errno != EINPROGRESS) throw Error(std::strerror(errno));
    finish_connecting(out.fd(), seconds);
  }
  if (fcntl(out.fd(), F_SETFL, 0) != 0) fail("fcntl");
  return out;
}

void prepare_stream(int fd) {
  if (fcntl(fd, F_SETFL, 0) != 0) fail("fcntl");
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  const timeval slice{0, kSocketSliceMs * 1000};
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) != 0) fail("SO_RCVTIMEO");
  if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice) != 0) fail("SO_SNDTIMEO");
}

std::optional<TcpState> tcp_state(int fd) {
  tcp_info info = {};
  socklen_t length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  // An older kernel writes less of the structure.
  const auto told = [length](size_t offset, size_t size) { return length >= offset + size; };
  TcpState out{
      .retransmits = info.tcpi_total_retrans,
      .rtt_seconds = info.tcpi_rtt * 1e-6,
      .congestion_window_bytes = static_cast<uint64_t>(info.tcpi_snd_cwnd) * info.tcpi_snd_mss,
      .segment_bytes = info.tcpi_snd_mss};
  if (told(offsetof(tcp_info, tcpi_bytes_retrans), sizeof info.tcpi_bytes_retrans))
    out.bytes = {.sent = info.tcpi_bytes_sent, .sent_again = info.tcpi_bytes_retrans};
  const bool with_ecn = (info.tcpi_options & TCPI_OPT_ECN) != 0;
  if (with_ecn && told(offsetof(tcp_info, tcpi_delivered_ce), sizeof info.tcpi_delivered_ce))
    out.echoes = {.acknowledged = info.tcpi_delivered, .echoed = info.tcpi_delivered_ce};
  return out;
}

void lose_arriving(int fd, double share) {
  if (share <= 0) {
    const int unused = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) != 0 &&
        errno != ENOENT)
      fail("SO_DETACH_FILTER");
    return;
  }
  // A random word of 32 bits below the limit: returns 0, keep nothing; else all.
  const auto limit = static_cast<uint32_t>(std::lround(std::min(share, 1.0) * UINT32_MAX));
  constexpr auto kRandom = static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_RANDOM);
  sock_filter code[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, kRandom},
                        {BPF_JMP | BPF_JGE | BPF_K, 1, 0, limit},
                        {BPF_RET | BPF_K, 0, 0, 0},
                        {BPF_RET | BPF_K, 0, 0, UINT32_MAX}};
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0) return;
  if (errno == EPERM)
    throw Error(
        "this kernel lets only CAP_NET_ADMIN lose what arrives at a TCP socket; next: run --loss "
        "as root");
  fail("SO_ATTACH_FILTER");
}

std::string congestion_control(int fd) {
  char name[16] = {};
  socklen_t length = sizeof name - 1;
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return "unknown";
  return name;
}

std::pair<int, int> buffer_sizes(int fd) {
  int send = 0, receive = 0;
  socklen_t length = sizeof send;
  if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, &length) != 0) fail("SO_SNDBUF");
  if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, &length) != 0) fail("SO_RCVBUF");
  return {send, receive};
}

std::string network_identity() {
  std::error_code ignored;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/net", ignored).string();
  return FsRoot().text("/proc/sys/kernel/random/boot_id").value_or(host_name()) + space;
}

}  // namespace cb
