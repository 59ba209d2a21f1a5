#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sys/net/socket_handle.h"
#include "sys/os/fs_root.h"

// TCP sockets and the interfaces that they go through.
namespace cb {

// An address of an interface that is up, as numbers: "10.77.0.1", "fd00::1".
struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool loopback = false;
};

// All of this network namespace without link-local ones, in the system's order.
std::vector<InterfaceAddress> interface_addresses();

// The address that packets to `address` leave from; nothing if there is no route.
std::optional<std::string> source_address_towards(const std::string& address);

// What an interface can do. The rate is absent where the driver has none or makes one up (veth).
struct InterfaceLink {
  std::optional<double> bits_per_second = {};
  std::optional<int> mtu_bytes = {};
  bool ethernet = false;
};
InterfaceLink interface_link(const FsRoot& fs, const std::string& interface);

// Listens at one address of this host, on a port that the kernel chooses, without ever blocking.
// Throws Error that says why not, without the address.
struct Listener {
  Socket socket;
  int port = 0;
};
Listener listen_at(const std::string& address, int backlog, uint64_t buffer_bytes);

// Connects within `seconds`, from the address `source` unless that is empty. Throws Error that says
// why not, without the peer's name.
Socket connect_to(const std::string& address, int port, const std::string& source, double seconds,
                  uint64_t buffer_bytes);

// Calls that move data return after this time at the latest, so that deadlines can be looked at.
constexpr int kSocketSliceMs = 100;
// Prepares an accepted or connected socket: it waits, but no longer than the slice above, and does
// not delay small messages.
void prepare_stream(int fd);

// TCP_INFO of one connection at this moment.
struct TcpState {
  uint64_t retransmits = 0;  // segments since the connection began
  double rtt_seconds = 0;    // smoothed
  uint64_t congestion_window_bytes = 0;
  uint64_t segment_bytes = 0;
};
std::optional<TcpState> tcp_state(int fd);
// "cubic", "bbr"; "unknown" if the kernel does not say.
std::string congestion_control(int fd);
// What the kernel gives, in bytes, at this moment.
std::pair<int, int> buffer_sizes(int fd);  // send, receive

// Where this process's network is, a word: equal for processes that share a loopback interface.
std::string network_identity();

}  // namespace cb
