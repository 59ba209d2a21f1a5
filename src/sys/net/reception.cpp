#include "sys/net/reception.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "sys/net/tcp_socket.h"

namespace cb {
namespace {

constexpr int kWaitingConnections = 1024;  // no system keeps more waiting by default
// Interval at which a crowd of strangers is served. The job's own ranks wait no longer than this.
constexpr double kRestSeconds = 0.1;

}  // namespace

Reception::Reception(const std::vector<std::string>& addresses, std::string token,
                     size_t greeting_bytes, uint64_t buffer_bytes)
    : token_(std::move(token)), greeting_bytes_(greeting_bytes) {
  std::vector<std::string> failures;
  for (const std::string& address : addresses) {
    try {
      Listener listener = listen_at(address, kWaitingConnections, buffer_bytes);
      doors_.push_back({address, listener.port});
      listeners_.push_back(std::move(listener.socket));
    } catch (const Error& e) {
      failures.push_back(fmt::format("{}: {}", address, e.what()));
    }
  }
  if (listeners_.empty())
    throw Error(
        fmt::format("cannot listen for the job's other ranks ({}); next: look at this "
                    "host's addresses",
                    failures.empty() ? "this host has no address"
                                     : fmt::format("{}", fmt::join(failures, "; "))));
}

void Reception::close() {
  guests_.clear();
  listeners_.clear();
}

bool Reception::admits(double now) const {
  return now >= rest_until_ &&
         (guests_.size() < kMaxGuests || now - guests_.front().since >= kCrowdedSeconds);
}

void Reception::watch(std::vector<Watched>& sockets, double now) const {
  // poll() ignores negative descriptors.
  for (const Socket& l : listeners_) sockets.push_back({.fd = admits(now) ? l.fd() : -1});
  for (const Guest& g : guests_) sockets.push_back({.fd = g.socket.fd()});
}

std::vector<Reception::Arrival> Reception::serve(std::span<const Watched> watched, double now) {
  std::vector<Arrival> out;
  const size_t doors = listeners_.size();
  for (size_t i = guests_.size(); i-- > 0;) {
    const bool late = now - guests_[i].since > kGreetingSeconds;
    if ((watched[doors + i].readable && !hear(guests_[i], out)) || late) turn_away(i);
  }
  std::erase_if(guests_, [](const Guest& g) { return !g.socket.open(); });
  if (now - window_began_ > kRestSeconds) {
    window_began_ = now;
    turned_away_ = 0;
  }
  for (size_t i = 0; i < doors; ++i) {
    if (watched[i].readable) admit(listeners_[i], now, out);
  }
  return out;
}

// If all places are taken, turns away the guest that has been silent longest, if it has been silent
// long enough.
void Reception::make_room(double now) {
  if (guests_.size() < kMaxGuests || now - guests_.front().since < kCrowdedSeconds) return;
  turn_away(0);
  guests_.erase(guests_.begin());
}

void Reception::admit(const Socket& listener, double now, std::vector<Arrival>& out) {
  while (admits(now)) {
    make_room(now);
    Guest guest{.socket = accept_waiting(listener), .since = now};
    if (!guest.socket.open()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) rest(now);
      return;
    }
    // Most guests greet at the moment in which they connect.
    const bool alive = hear(guest, out);
    if (alive && guest.socket.open()) guests_.push_back(std::move(guest));
    if (!alive) ++turned_away_;
    if (turned_away_ >= kMaxGuests) rest_until_ = now + kRestSeconds;
  }
}

// Without a free descriptor the connection keeps waiting, and accept() would fail in a loop. The
// descriptors that guests hold may be the missing ones, here and in the measurement.
void Reception::rest(double now) {
  guests_.clear();
  rest_until_ = now + kRestSeconds;
}

void Reception::turn_away(size_t guest) {
  guests_[guest].socket.close();
  ++turned_away_;
}

// Reads the guest's greeting. Returns false if the guest is a stranger or has gone. Moves the
// socket of a complete greeting to `out`.
bool Reception::hear(Guest& guest, std::vector<Arrival>& out) const {
  std::string piece(greeting_bytes_ - guest.greeting.size(), '\0');
  const long n = read_some(guest.socket, piece.data(), piece.size());
  if (n < 0) return false;
  guest.greeting.append(piece, 0, static_cast<size_t>(n));
  const size_t known = std::min(guest.greeting.size(), token_.size());
  if (guest.greeting.compare(0, known, token_, 0, known) != 0) return false;
  if (guest.greeting.size() < greeting_bytes_) return true;
  out.push_back({std::move(guest.socket), std::move(guest.greeting)});
  return true;
}

}  // namespace cb
