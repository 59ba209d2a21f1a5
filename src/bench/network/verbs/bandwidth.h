#pragma once

#include <vector>

#include "bench/network/verbs/flow.h"

namespace cb::verbs {

// A streaming transfer between two ends. Every queue pair keeps up to `depth` messages in flight.
class Stream {
 public:
  Stream(Link& link, bool sends, bool receives);

  struct Result {
    uint64_t sent = 0;        // messages of this end in this repetition
    uint64_t peer_sent = 0;   // messages of the other end in this repetition
    double seconds = 0;       // this end: first post to last completion; 0: it sends nothing
    double peer_seconds = 0;  // the other end: measured in the same way
  };
  // Runs one repetition; call it on both ends at once. Each queue pair sends `iterations` messages;
  // 0: as many as fit into `seconds`. Throws Error that names both ends if it fails or the deadline
  // passes.
  Result run(uint64_t iterations, double seconds, Idle& idle);

  uint64_t received() const;  // messages received so far, without lost datagrams
  // Of each queue pair, the messages so far: those that this end asked for, and those it took.
  std::vector<uint64_t> sent_by_pair() const;
  std::vector<uint64_t> received_by_pair() const;
  // Of the queue pair of which the other end says that it sent fewest. The warm-up is among them,
  // so that it is at least one.
  uint64_t fewest_from_peer() const { return fewest_from_peer_; }

 private:
  struct Flow {
    Requests requests;
    uint64_t posted = 0, completed = 0, target = 0;
    uint64_t unsignalled = 0;
  };
  void start(uint64_t iterations);
  bool post();
  void post_some(Flow& flow, int count);
  bool reap_sends();
  bool reap_receives();
  void finish_at_time(double end);
  bool sending() const;
  void hear(Idle& idle);
  void drain(Idle& idle);

  Link& link_;
  bool sends_, receives_;
  std::vector<Flow> flows_;
  std::vector<Receives> receive_;
  uint64_t moderation_;
  std::optional<Message> heard_;
  uint64_t expected_ = 0;  // messages that the peer says it has sent, in all repetitions
  uint64_t fewest_from_peer_ = 0;
};

}  // namespace cb::verbs
