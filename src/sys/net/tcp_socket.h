#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sys/net/socket_handle.h"
#include "sys/os/fs_root.h"

// TCP sockets and the interfaces that they use.
namespace cb {

// An address of an interface that is up, in numbers: "10.77.0.1", "fd00::1".
struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool loopback = false;
};

// Returns all addresses in this network namespace except link-local ones, in the system's order.
std::vector<InterfaceAddress> interface_addresses();

// Returns the source address of packets to `address`; nothing if there is no route.
std::optional<std::string> source_address_towards(const std::string& address);

// What an interface can do. The rate is absent if the driver has none or invents one (veth).
struct InterfaceLink {
  std::optional<double> bits_per_second = {};
  std::optional<int> mtu_bytes = {};
  bool ethernet = false;
};
InterfaceLink interface_link(const FsRoot& fs, const std::string& interface);

// Listens at one address of this host, on a port that the kernel chooses; never blocks. Throws
// Error with the reason, without the address.
struct Listener {
  Socket socket;
  int port = 0;
};
Listener listen_at(const std::string& address, int backlog, uint64_t buffer_bytes);

// Connects within `seconds`, from the address `source` unless that is empty. Throws Error with the
// reason, without the peer's name.
Socket connect_to(const std::string& address, int port, const std::string& source, double seconds,
                  uint64_t buffer_bytes);

// Longest time in milliseconds that one call moving data may block, so that deadlines are checked.
constexpr int kSocketSliceMs = 100;
// Prepares an accepted or connected socket: its calls block, but no longer than kSocketSliceMs, and
// small messages are not delayed.
void prepare_stream(int fd);

// TCP_INFO of one connection at the moment of the call.
struct TcpState {
  uint64_t retransmits = 0;  // number of segments since the connection began
  double rtt_seconds = 0;    // smoothed round-trip time
  uint64_t congestion_window_bytes = 0;
  uint64_t segment_bytes = 0;
  // Payload that was sent, with all that was sent again, and the latter alone. Absent before Linux
  // 4.19.
  struct Bytes {
    uint64_t sent = 0, sent_again = 0;
  };
  std::optional<Bytes> bytes = {};
  // Segments that the other end has acknowledged, and those of them of which it told congestion
  // (ECN-Echo). By RFC 3168 it repeats that until the sender has answered, so these are more than
  // what switches marked; with DCTCP they are those. Absent if the connection has no ECN, and
  // before Linux 4.18.
  struct Echoes {
    uint64_t acknowledged = 0, echoed = 0;
  };
  std::optional<Echoes> echoes = {};
};
std::optional<TcpState> tcp_state(int fd);
// Throws away this share of what arrives at the socket before TCP sees it: a block is one segment,
// or several that the kernel has joined to one on their way (GRO, or no wire between the ends). The
// sender takes it for a loss of the network. Nothing else on this host is changed; it needs
// CAP_NET_ADMIN where the kernel asks for it (seen on Linux 6.18), and ends with the socket. 0 ends
// it at once. Throws Error if the kernel refuses.
void lose_arriving(int fd, double share);

// "cubic", "bbr"; "unknown" if the kernel does not say.
std::string congestion_control(int fd);
// Returns the current sizes of the kernel's buffers in bytes.
std::pair<int, int> buffer_sizes(int fd);  // send, receive

// Identifies this process's network in one word: processes with the same word share a loopback
// interface.
std::string network_identity();

}  // namespace cb
