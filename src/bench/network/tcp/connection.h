#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/cancel.h"
#include "core/clock.h"
#include "sys/net/reception.h"
#include "sys/net/tcp_socket.h"

namespace cb::tcp {

// The deadline of a transfer, and whether the job was cancelled.
class Until {
 public:
  Until(double seconds, const CancelToken& cancel)
      : end_(monotonic_seconds() + seconds), cancel_(cancel) {}
  double left() const { return end_ - monotonic_seconds(); }
  bool over() const { return left() <= 0 || cancel_.cancelled(); }
  // If over, throws Error "what: deadline passed", or Interrupted if cancelled.
  void require(const Said& what) const;

 private:
  double end_;
  const CancelToken& cancel_;
};

// What the receiving end of a pair tells the sending end, which connects.
struct Address {
  std::string host;
  std::string network;           // network_identity()
  uint64_t token = 0;            // a connection that begins with another token is refused
  std::vector<Door> doors = {};  // to be tried in this order

  std::string text() const;  // one line
  // Throws Error if malformed.
  static Address parse(const std::string& text);
};

// The interface by which to leave this host; "": the routes decide.
struct Source {
  std::string interface;
  std::vector<std::string> addresses = {};  // at most one per family is used
  bool fixed = false;                       // true: bind to the address
};

// The connections of a transfer: a control connection for both ends, and the streams.
struct Link {
  Socket control;
  std::vector<Socket> streams;
  std::string peer;  // "n2 (10.77.0.2)", for messages
};

inline constexpr const char* kLoopback = "127.0.0.1";
inline bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

// Called by the sending end. Tries the peer's addresses in turn. Throws Error that names each
// failed one.
Link connect_link(const Address& peer, const Source& source, int streams, uint64_t buffer_bytes,
                  const Until& until);
// Opens the doors of the receiving end: one at each of `addresses`, and one at this host's loopback
// for peers on the same host. Refuses a connection that does not begin with the token. Throws
// Error.
Reception receive_at(std::vector<std::string> addresses, uint64_t token, uint64_t buffer_bytes);
// Called by the receiving end. Closes the reception once every connection is there. Throws Error
// past the deadline.
Link accept_link(Reception& reception, const std::string& peer_host, int streams,
                 const Until& until);

// A message between the ends: a kind, figures and a text.
struct Word {
  enum Kind : uint32_t { ready = 1, done = 2, result = 3, failed = 4 };
  uint32_t kind = 0;
  std::vector<double> values = {};
  std::string text = {};
};
// Both throw Error that names the peer if the connection breaks or time is over. wait_word() also
// throws if the peer says that it failed, or sends another kind than `kind`.
void send_word(const Link& link, const Word& word, const Until& until);
Word wait_word(const Link& link, Word::Kind kind, const Until& until);
// True if data arrives on the control connection within `seconds`.
bool word_is_there(const Link& link, double seconds);

}  // namespace cb::tcp
