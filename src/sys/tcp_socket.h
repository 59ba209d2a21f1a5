#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// TCP sockets with a deadline on every wait. Failures throw Error naming the call and the peer.
namespace cb::net {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// An IPv4 interface of this host that is up.
struct Interface {
  std::string name;
  std::string address;  // "10.0.0.1"
  int prefix = 0;       // of the network
  int mtu = 0;
  bool loopback = false;

  std::string network() const;  // "10.0.0.0/24"
};
std::vector<Interface> ipv4_interfaces();

// Listens on any free port of that address.
Socket listen_on(const std::string& address, int backlog);
uint16_t port_of(const Socket& socket);

// From `own_address`; throws Error if it is not done before the deadline.
Socket connect_to(const std::string& own_address, const std::string& address, uint16_t port,
                  double deadline_seconds);
Socket accept_one(const Socket& listener, double deadline_seconds);

// All of the bytes; a receive that meets the end of the stream throws.
void send_all(const Socket& socket, std::span<const std::byte> bytes, double deadline_seconds);
void receive_all(const Socket& socket, std::span<std::byte> bytes, double deadline_seconds);

// Blocking calls on this socket give up (EAGAIN) after this long, so that loops can look around.
void set_timeouts(const Socket& socket, double seconds);
void set_no_delay(const Socket& socket);

// What the kernel knows of a connection (TCP_INFO).
struct ConnectionInfo {
  uint64_t retransmissions = 0;
  double rtt_seconds = 0;
  uint64_t window_bytes = 0;
};
std::optional<ConnectionInfo> connection_info(const Socket& socket);

// Sends without copying (MSG_ZEROCOPY). Pages are pinned until the kernel has let them go, so the
// content must not change.
class ZeroCopySender {
 public:
  // False where the kernel has no such sends.
  static bool enable(const Socket& socket);
  // As send(): bytes taken, or −1 with errno. Takes back finished sends on the way.
  static long send(const Socket& socket, std::span<const std::byte> bytes);
};

}  // namespace cb::net
