#include "bench/network/tcp/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/units.h"

namespace cb::tcp {
namespace {

constexpr uint32_t kMagic = 0x63627463;      // "cbtc"
constexpr double kTryOneAddressSeconds = 3;  // limit for an address while others are left to try
constexpr uint32_t kMaxWordBytes = 1 << 20;  // a longer message is not ours

// The first bytes of every connection. The token comes first, so that a stranger is recognized by
// it.
struct Greeting {
  uint64_t token;
  uint32_t magic;
  uint32_t index;  // 0: the control connection; else the stream
};

void send_all(int fd, const void* data, size_t size, const std::string& peer, const Until& until) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
    if (n > 0) {
      at += n;
      size -= static_cast<size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Error(fmt::format("{}: {}", peer, std::strerror(errno)));
    }
    if (size > 0 && until.over()) until.require(said("tcp.takes_nothing", peer));
  }
}

void receive_all(int fd, void* data, size_t size, const std::string& peer, const Until& until) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = recv(fd, at, size, 0);
    if (n == 0) throw Error(said("tcp.closed", peer));
    if (n > 0) {
      at += n;
      size -= static_cast<size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Error(fmt::format("{}: {}", peer, std::strerror(errno)));
    }
    if (size > 0 && until.over()) until.require(said("tcp.nothing_from", peer));
  }
}

Socket greeted(Socket socket, const Address& peer, uint32_t index, const std::string& name,
               const Until& until) {
  prepare_stream(socket.fd());
  const Greeting greeting{peer.token, kMagic, index};
  send_all(socket.fd(), &greeting, sizeof greeting, name, until);
  return socket;
}

std::string source_for(const Source& source, const std::string& address) {
  if (!source.fixed) return "";
  for (const std::string& mine : source.addresses) {
    if (is_ipv6(mine) == is_ipv6(address)) return mine;
  }
  throw Error(fmt::format("{} has no address of its family", source.interface));
}

// Index in the greeting of a connection that began with the token; nothing if the rest is wrong.
std::optional<uint32_t> stream_index(const std::string& bytes, int streams) {
  Greeting greeting = {};
  std::memcpy(&greeting, bytes.data(), std::min(bytes.size(), sizeof greeting));
  if (greeting.magic != kMagic || greeting.index > static_cast<uint32_t>(streams))
    return std::nullopt;
  return greeting.index;
}

Door parse_door(const std::string& text) {
  const size_t at = text.find('@');
  const auto port = at == std::string::npos ? std::nullopt : parse_integer(text.substr(at + 1));
  if (!port) throw Error(fmt::format("'{}' is no address with a port", text));
  return {text.substr(0, at), static_cast<int>(*port)};
}

}  // namespace

void Until::require(const Said& what) const {
  if (cancel_.cancelled()) throw Interrupted();
  if (left() <= 0) throw Error(said("tcp.deadline_passed", what));
}

std::string Address::text() const {
  std::vector<std::string> list;
  for (const Door& d : doors) list.push_back(fmt::format("{}@{}", d.address, d.port));
  return fmt::format("{} {} {} {}", host, network, token, fmt::join(list, ","));
}

Address Address::parse(const std::string& text) {
  std::istringstream in(text);
  Address out;
  std::string list;
  in >> out.host >> out.network >> out.token;
  if (in.fail()) throw Error(fmt::format("'{}' is no address of a TCP end", text));
  in >> list;  // empty if the end sends
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) out.doors.push_back(parse_door(item));
  return out;
}

Link connect_link(const Address& peer, const Source& source, int streams, uint64_t buffer_bytes,
                  const Until& until) {
  std::vector<Said> failures;
  for (size_t i = 0; i < peer.doors.size(); ++i) {
    const auto& [address, port] = peer.doors[i];
    const bool last = i + 1 == peer.doors.size();
    const double limit = last ? until.left() : std::min(until.left(), kTryOneAddressSeconds);
    Link link;
    link.peer = fmt::format("{} ({})", peer.host, address);
    const auto open = [&, &to = address, at = port](uint32_t index, double seconds) {
      Socket raw =
          connect_to(to, at, source_for(source, to), seconds, index == 0 ? 0 : buffer_bytes);
      return greeted(std::move(raw), peer, index, link.peer, until);
    };
    try {
      link.control = open(0, std::max(0.1, limit));
      for (int s = 1; s <= streams; ++s)
        link.streams.push_back(open(static_cast<uint32_t>(s), std::max(0.1, until.left())));
      return link;
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& e) {
      failures.push_back(said("said.of", address, e.said()));
    }
    until.require(said("tcp.no_connection_why", peer.host, said_list(failures)));
  }
  const Said why = failures.empty() ? said("tcp.no_address") : said_list(failures);
  throw Error(source.interface.empty()
                  ? said("tcp.no_way", peer.host, why)
                  : said("tcp.no_way_through", peer.host, source.interface, why));
}

Reception receive_at(std::vector<std::string> addresses, uint64_t token, uint64_t buffer_bytes) {
  if (std::find(addresses.begin(), addresses.end(), kLoopback) == addresses.end())
    addresses.emplace_back(kLoopback);
  std::string first(sizeof token, '\0');
  std::memcpy(first.data(), &token, sizeof token);
  return Reception(addresses, std::move(first), sizeof(Greeting), buffer_bytes);
}

Link accept_link(Reception& reception, const std::string& peer_host, int streams,
                 const Until& until) {
  Link link;
  link.peer = peer_host;
  link.streams.resize(static_cast<size_t>(streams));
  for (int missing = streams + 1; missing > 0;) {
    std::vector<Watched> watched;
    reception.watch(watched, monotonic_seconds());
    wait_for_any(watched, kSocketSliceMs * 1e-3);
    for (auto& [socket, greeting] : reception.serve(watched, monotonic_seconds())) {
      const auto index = stream_index(greeting, streams);
      if (!index) continue;
      prepare_stream(socket.fd());
      Socket& place = *index == 0 ? link.control : link.streams[*index - 1];
      // A peer that tried several addresses may connect twice: the last connection counts.
      if (!place.open()) --missing;
      place = std::move(socket);
    }
    if (missing > 0) until.require(said("tcp.no_connection_from", peer_host));
  }
  reception.close();
  return link;
}

void send_word(const Link& link, const Word& word, const Until& until) {
  const std::string body = nlohmann::json{word.kind, word.values, word.text}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto size = static_cast<uint32_t>(body.size());
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  frame += body;
  send_all(link.control.fd(), frame.data(), frame.size(), link.peer, until);
}

Word wait_word(const Link& link, Word::Kind kind, const Until& until) {
  uint32_t size = 0;
  receive_all(link.control.fd(), &size, sizeof size, link.peer, until);
  if (size > kMaxWordBytes) throw Error(link.peer + " sent something that is none of ours");
  std::string body(size, '\0');
  receive_all(link.control.fd(), body.data(), size, link.peer, until);
  const auto json = nlohmann::json::parse(body);
  Word out{json.at(0), json.at(1).get<std::vector<double>>(), json.at(2)};
  if (out.kind == Word::failed) throw Error(said("tcp.says", link.peer, unpack_said(out.text)));
  if (out.kind != kind)
    throw Error(fmt::format("{} is at another step ({} instead of {})", link.peer, out.kind,
                            static_cast<uint32_t>(kind)));
  return out;
}

bool word_is_there(const Link& link, double seconds) {
  pollfd waiting{link.control.fd(), POLLIN, 0};
  return poll(&waiting, 1, std::max(0, static_cast<int>(seconds * 1000))) > 0;
}

}  // namespace cb::tcp
