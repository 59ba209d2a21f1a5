#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/cancel.h"
#include "core/clock.h"
#include "sys/net/reception.h"
#include "sys/net/tcp_socket.h"

namespace cb::tcp {

// Until when a transfer may take, and whether it was cancelled.
class Until {
 public:
  Until(double seconds, const CancelToken& cancel)
      : end_(monotonic_seconds() + seconds), cancel_(cancel) {}
  double left() const { return end_ - monotonic_seconds(); }
  bool over() const { return left() <= 0 || cancel_.cancelled(); }
  // Throws Error "what: deadline passed" or Interrupted when over.
  void require(const Said& what) const;

 private:
  double end_;
  const CancelToken& cancel_;
};

// What the receiving end of a pair tells the sending one, which connects.
struct Address {
  std::string host;
  std::string network;           // network_identity()
  uint64_t token = 0;            // of this transfer: others that come to a port are turned away
  std::vector<Door> doors = {};  // in the order in which to try them

  std::string text() const;  // one line
  // Throws Error if malformed.
  static Address parse(const std::string& text);
};

// One way to leave this host: "" lets the routes decide.
struct Source {
  std::string interface;
  std::vector<std::string> addresses = {};  // one per family at most is used
  bool fixed = false;                       // bind to it
};

// The connections of a transfer: one that both ends talk over, and the streams.
struct Link {
  Socket control;
  std::vector<Socket> streams;
  std::string peer;  // "n2 (10.77.0.2)", for messages
};

inline constexpr const char* kLoopback = "127.0.0.1";
inline bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

// Of the sending end. Tries the peer's addresses in turn. Throws Error naming each that failed.
Link connect_link(const Address& peer, const Source& source, int streams, uint64_t buffer_bytes,
                  const Until& until);
// Where the receiving end takes its connections: at each of `addresses`, and at this host's
// loopback for ends that share it. Who does not begin with the token is turned away. Throws Error.
Reception receive_at(std::vector<std::string> addresses, uint64_t token, uint64_t buffer_bytes);
// Of the receiving end: closes the reception once every connection is there. Throws Error past the
// deadline.
Link accept_link(Reception& reception, const std::string& peer_host, int streams,
                 const Until& until);

// What the ends say to each other: a kind and figures by name.
struct Word {
  enum Kind : uint32_t { ready = 1, done = 2, result = 3, failed = 4 };
  uint32_t kind = 0;
  std::vector<double> values = {};
  std::string text = {};
};
// Throw Error naming the peer when the connection breaks or time is over; wait_word also when the
// peer says that it failed, or says something else than `kind`.
void send_word(const Link& link, const Word& word, const Until& until);
Word wait_word(const Link& link, Word::Kind kind, const Until& until);
// True if something has come on the control connection within `seconds`.
bool word_is_there(const Link& link, double seconds);

}  // namespace cb::tcp
