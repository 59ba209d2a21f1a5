#pragma once

#include "bench/network/verbs/flow.h"

namespace cb::verbs {

// The streaming transfer between two ends: every queue pair keeps up to `depth` messages in flight.
class Stream {
 public:
  Stream(Link& link, bool sends, bool receives);

  struct Result {
    uint64_t sent = 0;        // by this end in this repetition
    uint64_t peer_sent = 0;   // by the other one
    double seconds = 0;       // first post to last completion of this end; 0 if it sends nothing
    double peer_seconds = 0;  // likewise
  };
  // One repetition, on both ends at once: `iterations` messages per queue pair, or as many as
  // `seconds` hold. Throws Error naming both ends when it fails or the deadline passes.
  Result run(uint64_t iterations, double seconds, Idle& idle);

  uint64_t received() const;  // so far, datagrams that got lost not counted
  // Messages of the first queue pair so far, of this end and of the other one.
  uint64_t sent_per_pair() const { return flows_.empty() ? 0 : flows_[0].posted; }

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
  uint64_t expected_ = 0;  // receives that the peer says it has sent, in all
};

}  // namespace cb::verbs
