#include "sys/net/netlink.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "sys/net/socket_handle.h"

namespace cb::netlink {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr size_t kMostBytes = size_t{16} << 20;  // of an answer

[[noreturn]] void fail(int code) { throw Error(said("netlink.failed", std::strerror(code))); }

// What one packet said.
enum class Answered { more, all };

// Adds the messages of a packet to `out`.
Answered take(std::string_view packet, bool dump, std::string& out) {
  while (packet.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head{};
    std::memcpy(&head, packet.data(), sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > packet.size()) fail(EBADMSG);
    if (head.nlmsg_type == NLMSG_DONE) return Answered::all;
    if (head.nlmsg_type == NLMSG_ERROR) {
      int code = 0;
      if (head.nlmsg_len >= sizeof head + sizeof code)
        std::memcpy(&code, packet.data() + sizeof head, sizeof code);
      if (code != 0) fail(-code);
      return Answered::all;
    }
    out.append(packet.substr(0, head.nlmsg_len));
    out.resize(NLMSG_ALIGN(out.size()), '\0');
    if (!dump) return Answered::all;
    packet.remove_prefix(std::min<size_t>(NLMSG_ALIGN(head.nlmsg_len), packet.size()));
  }
  return Answered::more;
}

std::string receive_all(const Socket& socket, bool dump) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::vector<char> buffer(size_t{1} << 16);
  std::string out;
  while (out.size() < kMostBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd waiting{socket.fd(), POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) fail(ready == 0 ? ETIMEDOUT : errno);
    const ssize_t got = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno != EINTR) fail(errno);
    if (got <= 0) continue;
    const std::string_view packet(buffer.data(), static_cast<size_t>(got));
    if (take(packet, dump, out) == Answered::all) return out;
  }
  fail(EMSGSIZE);
}

std::string exchange(int protocol, int type, std::string_view body, bool dump) {
  const Socket socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket.open()) fail(errno);
  nlmsghdr head{};
  head.nlmsg_len = static_cast<uint32_t>(sizeof head + body.size());
  head.nlmsg_type = static_cast<uint16_t>(type);
  head.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0));
  head.nlmsg_seq = 1;
  std::string message(reinterpret_cast<const char*>(&head), sizeof head);
  message.append(body);
  if (::send(socket.fd(), message.data(), message.size(), 0) < 0) fail(errno);
  return receive_all(socket, dump);
}

}  // namespace

std::string attribute(unsigned short type, std::string_view value) {
  rtattr head{};
  head.rta_len = static_cast<unsigned short>(sizeof head + value.size());
  head.rta_type = type;
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  out.append(value);
  out.resize(RTA_ALIGN(out.size()), '\0');
  return out;
}

std::string ask(int type, std::string_view body, bool dump) {
  return exchange(NETLINK_ROUTE, type, body, dump);
}

std::string ask_generic(int family, std::string_view body) {
  return exchange(NETLINK_GENERIC, family, body, false);
}

}  // namespace cb::netlink
