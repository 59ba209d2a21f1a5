#pragma once

#include "bench/network/verbs/flow.h"
#include "core/histogram.h"

namespace cb::verbs {

// One message at a time. Write and send: ping-pong, timed by the end that begins. Read and atomics:
// timed by the end that asks, while the other end sleeps.
class PingPong {
 public:
  PingPong(Link& link, bool begins);

  struct Result {
    Histogram seconds;      // half a round trip of write and send, else a whole one
    uint64_t messages = 0;  // messages that this end sent or asked for
    uint64_t peer = 0;      // messages that the other end sent or asked for
  };
  // Call it on both ends at once. Throws Error that names both ends if it fails or the deadline
  // passes.
  Result run(uint64_t iterations, double seconds, Idle& idle);

 private:
  void begin(uint64_t iterations, double seconds, Idle& idle, Result& result);
  void answer(Idle& idle);
  void one(Idle& idle);
  void post_next();
  void reap_sends(Idle& idle);
  void await_message(Idle& idle);
  void await_byte(Idle& idle);
  void await_receive(Idle& idle);
  void pause(Idle& idle);
  void look(Idle& idle);

  Link& link_;
  bool begins_;
  bool by_byte_;  // the receiver watches its memory
  Requests requests_;
  std::vector<Receives> receive_;
  uint64_t posted_ = 0, completed_ = 0, unsignalled_ = 0, received_ = 0;
  uint64_t moderation_;
  std::optional<Message> heard_;
};

}  // namespace cb::verbs
