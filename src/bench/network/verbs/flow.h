#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/network/verbs/link.h"

namespace cb::verbs {

// The send requests of one queue pair, prepared once: a chain of spec.post_list that is posted
// again and again.
class Requests {
 public:
  Requests(const Link& link, size_t q);

  // Posts `count` (at most post_list) messages from number `first` on; the last one asks for a
  // completion that stands for `covers` messages unless that is 0. Throws Error.
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

// The receive requests of one queue pair, kept full in bulk.
class Receives {
 public:
  Receives(const Link& link, size_t q);
  void post_all();
  // One message has come; every so often its likes are posted again. Throws Error.
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

// Unless the completion is a success: throws Error naming both ends, the queue pair and what ended
// it, which may stand in a later completion (completion.h); Flushed if that did not come.
void check_completion(const Link& link, const ibv_wc& wc, size_t q);

}  // namespace cb::verbs
