#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/network/verbs/link.h"

namespace cb::verbs {

// The send requests of one queue pair: a chain of spec.post_list requests. It is prepared once and
// posted again and again.
class Requests {
 public:
  Requests(const Link& link, size_t q);

  // Posts `count` messages (at most post_list); `first` is the number of the first one. If `covers`
  // is not 0, the last message asks for a completion, which stands for `covers` messages. Throws
  // Error.
  void post(uint64_t first, int count, uint64_t covers);

 private:
  void aim(size_t k, uint64_t number);
  const Link& link_;
  size_t q_;
  bool moves_;  // the slot or an operand changes from message to message
  unsigned flags_;
  std::vector<ibv_sge> pieces_;
  std::vector<ibv_send_wr> list_;
};

// The receive requests of one queue pair. They are posted in batches, so that the queue stays full.
class Receives {
 public:
  Receives(const Link& link, size_t q);
  void post_all();
  // Counts one received message; now and then posts a batch of new requests. Throws Error.
  void consumed();
  uint64_t count() const { return consumed_; }

 private:
  void post(uint64_t first, uint64_t count);
  const Link& link_;
  size_t q_;
  uint64_t batch_;
  uint64_t consumed_ = 0;
  uint64_t posted_ = 0;
  std::vector<ibv_sge> pieces_;
  std::vector<ibv_recv_wr> list_;
};

// If the completion is no success, throws Error that names both ends, the queue pair and the cause.
// The cause may stand in a later completion (completion.h); throws Flushed if that did not arrive.
void check_completion(const Link& link, const ibv_wc& wc, size_t q);

}  // namespace cb::verbs
