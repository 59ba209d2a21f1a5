#include "bench/network/tcp/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <sys/socket.h>

#include "bench/network/tcp/payload.h"
#include "bench/network/tcp/transfer.h"
#include "kernels/pattern.h"

namespace cb::tcp {
namespace {

uint64_t random_token() {
  std::random_device source;
  return (uint64_t{source()} << 32) | source();
}

// One connection that carries whole messages to and fro.
class Messages {
 public:
  Messages(int fd, const Spec& spec, const std::string& peer, const Until& until)
      : fd_(fd), spec_(spec), peer_(peer), until_(until) {}

  void send_message(std::span<const std::byte> message) {
    while (!message.empty()) {
      const ssize_t n = send(fd_, message.data(), message.size(), MSG_NOSIGNAL);
      if (n >= 0)
        message = message.subspan(static_cast<size_t>(n));
      else
        again_or_throw();
    }
  }

  // False if the peer has ended the exchange.
  bool receive_message(std::span<std::byte> message) {
    const int flags = spec_.spin ? MSG_DONTWAIT : 0;
    for (size_t at = 0; at < message.size();) {
      const ssize_t n = recv(fd_, message.data() + at, message.size() - at, flags);
      if (n == 0 && at == 0) return false;
      if (n == 0) throw Error(said("tcp.closed_inside", peer_));
      if (n > 0)
        at += static_cast<size_t>(n);
      else
        again_or_throw();
    }
    return true;
  }

 private:
  void again_or_throw() {
    if (errno != EAGAIN && errno != EINTR)
      throw Error(fmt::format("{}: {}", peer_, std::strerror(errno)));
    constexpr unsigned kLook = 1024;  // a spinning wait reads the clock once in 1024 empty polls
    if (spec_.spin && ++empty_ % kLook != 0) return;
    if (until_.over()) until_.require(said("tcp.nothing_from", peer_));
  }

  int fd_;
  const Spec& spec_;
  const std::string& peer_;
  const Until& until_;
  unsigned empty_ = 0;
};

}  // namespace

TcpEndpoint::TcpEndpoint(const Spec& spec, const net::PairJob& job, EndpointPlace place,
                         const CancelToken& cancel)
    : spec_(spec), job_(job), place_(std::move(place)), cancel_(cancel) {
  if (spec_.latency) spec_.streams = 1;
  if (job_.task.sends) return;
  place_.address.token = random_token();
  reception_ = receive_at(place_.source.addresses, place_.address.token, spec_.buffer_bytes);
  place_.address.doors = reception_.doors();
}

void TcpEndpoint::connect(const std::string& peer_address, double) {
  peer_ = Address::parse(peer_address);
}

// The loopback door leads to the peer only if both ends share that interface. The routes would lead
// there anyway.
std::vector<Door> TcpEndpoint::ways_to_peer() const {
  const auto loopback = [](const Door& d) { return d.address == kLoopback; };
  const bool elsewhere = place_.source.fixed && place_.source.interface != "lo";
  std::vector<Door> out = peer_.doors;
  const auto others = std::stable_partition(out.begin(), out.end(), loopback);
  if (elsewhere || peer_.network != place_.address.network) out.erase(out.begin(), others);
  return out;
}

Link TcpEndpoint::make_link(const Until& until) {
  if (!job_.task.sends) return accept_link(reception_, peer_.host, spec_.streams, until);
  Address peer = peer_;
  peer.doors = ways_to_peer();
  return connect_link(peer, place_.source, spec_.streams, spec_.buffer_bytes, until);
}

uint64_t TcpEndpoint::seed(size_t stream, bool of_this_end) const {
  const uint64_t token = job_.task.sends ? peer_.token : place_.address.token;
  const bool from_pairs_sender = of_this_end == job_.task.sends;
  return kernels::pattern_word(2 * stream + (from_pairs_sender ? 1 : 0), token);
}

net::PairOutcome TcpEndpoint::run(double deadline_seconds) {
  const Until until(deadline_seconds, cancel_);
  net::PairOutcome out;
  std::optional<Link> link;
  try {
    link = make_link(until);
    spec_.latency ? ping_pong(*link, until, out) : stream(*link, until, out);
  } catch (const std::exception& e) {
    out = {};
    out.failure = said_by(e);
  }
  if (out.failure.empty() || !link) return out;
  try {
    send_word(*link, {Word::failed, {}, pack_said(out.failure)}, Until(0.5, cancel_));
  } catch (const std::exception&) {
    // The connection is what failed: the other end notices it by itself.
  }
  return out;
}

void TcpEndpoint::stream(const Link& link, const Until& until, net::PairOutcome& out) const {
  Transfer transfer(
      link, spec_, sends(), receives(),
      [this](size_t stream, bool of_this_end) { return seed(stream, of_this_end); },
      spec_.two_way && !job_.task.sends ? "reverse_" : "", place_.cpus, until);
  transfer.run(out);
}

void TcpEndpoint::ping_pong(const Link& link, const Until& until, net::PairOutcome& out) const {
  Messages messages(link.streams.at(0).fd(), spec_, link.peer, until);
  std::vector<std::byte> mine(spec_.bytes), theirs(spec_.bytes);
  fill_stream(mine, 0, seed(0, true));
  uint64_t position = 0;
  bool corrupt = spec_.corrupt;
  std::optional<uint64_t> wrong;
  const auto check = [&] {
    if (std::exchange(corrupt, false)) theirs[theirs.size() / 2] ^= std::byte{1};
    if (spec_.verify && !wrong) wrong = first_wrong(theirs, position, seed(0, false));
    position += spec_.bytes;
    if (spec_.verify) fill_stream(mine, position, seed(0, true));
  };
  send_word(link, {Word::ready}, until);
  wait_word(link, Word::ready, until);
  if (job_.task.sends) {
    const double begin = monotonic_seconds();
    const double from = begin + spec_.seconds * kWarmShare, to = from + spec_.seconds;
    for (double now = begin; now < to || out.latency_seconds.count() == 0;) {
      const double sent = monotonic_seconds();
      messages.send_message(mine);
      if (!messages.receive_message(theirs)) throw Error(said("tcp.ended_too_early", link.peer));
      now = monotonic_seconds();
      if (sent >= from) out.latency_seconds.add((now - sent) / 2);
      check();
    }
    shutdown(link.streams[0].fd(), SHUT_WR);
  } else {
    while (messages.receive_message(theirs)) {
      messages.send_message(mine);
      check();
    }
  }
  // A failure of one end is a failure of both ends.
  send_word(link, {Word::result}, until);
  wait_word(link, Word::result, until);
  if (!spec_.verify) return;
  out.wrong_data = wrong ? said("tcp.wrong_from", link.peer, *wrong) : Said();
}

}  // namespace cb::tcp
