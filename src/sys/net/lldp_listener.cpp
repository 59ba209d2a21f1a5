#include "sys/net/lldp_listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "sys/net/socket_handle.h"

namespace cb {
namespace {

constexpr uint16_t kLldp = 0x88cc;  // IEEE 802.1AB
constexpr std::array<unsigned char, 6> kNearestBridge{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};

// A socket that gets the frames of LLDP of that interface; closed, with errno set, if there is
// none.
Socket listener_on(const std::string& interface) {
  Socket out(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.open()) return out;
  const unsigned index = ::if_nametoindex(interface.c_str());
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(kLldp);
  address.sll_ifindex = static_cast<int>(index);
  packet_mreq group{};
  group.mr_ifindex = static_cast<int>(index);
  group.mr_type = PACKET_MR_MULTICAST;
  group.mr_alen = kNearestBridge.size();
  std::memcpy(group.mr_address, kNearestBridge.data(), kNearestBridge.size());
  const bool fine =
      index != 0 &&
      ::setsockopt(out.fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &group, sizeof group) == 0 &&
      ::bind(out.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return fine ? std::move(out) : Socket();
}

// A switch's frame; what this host sends itself is looped to the socket, too.
std::string frame_from(const Socket& socket) {
  std::array<char, 2048> buffer{};
  sockaddr_ll from{};
  socklen_t length = sizeof from;
  const ssize_t got = ::recvfrom(socket.fd(), buffer.data(), buffer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
  if (got <= 0 || from.sll_pkttype == PACKET_OUTGOING) return {};
  return std::string(buffer.data(), static_cast<size_t>(got));
}

// True of a frame whose sender leaves: its time to live is 0 (IEEE 802.1AB-2016, 8.5.4). A TLV has
// 7 bits of type and 9 of length in front.
bool says_goodbye(std::string_view frame) {
  constexpr unsigned kTimeToLive = 3;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(frame[i]); };
  for (size_t at = 0; at + 2 <= frame.size();) {
    const unsigned type = byte(at) >> 1;
    const size_t length = (byte(at) & 1U) << 8 | byte(at + 1);
    if (type == kTimeToLive && length == 2 && at + 4 <= frame.size())
      return byte(at + 2) == 0 && byte(at + 3) == 0;
    at += 2 + length;
  }
  return false;
}

}  // namespace

HeardFrames hear_lldp(const std::vector<std::string>& interfaces, double seconds,
                      const std::function<bool()>& stop) {
  constexpr double kSlice = 0.2;  // seconds between two looks at `stop`
  HeardFrames out;
  std::vector<std::string> names;
  std::vector<Socket> sockets;
  std::vector<pollfd> waiting;
  for (const std::string& interface : interfaces) {
    Socket socket = listener_on(interface);
    if (!socket.open()) {
      out.why_not[interface] =
          errno == EPERM ? said("lldp.no_right") : said("lldp.failed", std::strerror(errno));
      continue;
    }
    waiting.push_back({socket.fd(), POLLIN, 0});
    sockets.push_back(std::move(socket));
    names.push_back(interface);
  }
  const double until = monotonic_seconds() + seconds;
  while (out.payload.size() < sockets.size()) {
    const double left = until - monotonic_seconds();
    if (left <= 0 || (stop && stop())) break;
    const int ready =
        ::poll(waiting.data(), waiting.size(), static_cast<int>(std::min(left, kSlice) * 1000) + 1);
    if (ready < 0 && errno != EINTR) break;
    for (size_t i = 0; ready > 0 && i < sockets.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      std::string frame = frame_from(sockets[i]);
      if (!frame.empty() && !says_goodbye(frame)) out.payload[names[i]] = std::move(frame);
    }
  }
  return out;
}

}  // namespace cb
