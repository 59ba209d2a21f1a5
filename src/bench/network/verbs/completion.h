#pragma once

#include <span>
#include <string>

#include "sys/net/verbs.h"

// The reason why a queue pair ended. A failed request puts its queue pair into the error state, in
// which everything that is still queued is flushed (IB Architecture Specification vol. 1, 10.3.1
// and 10.8.5; status IBV_WC_WR_FLUSH_ERR). A flush thus says only that something else has failed
// before, often in the other queue.
namespace cb::verbs {

struct Cause {
  ibv_wc completion;  // what ended the queue pair; if that was not delivered: a flush
  bool delivered;
};

// `failed` is a completion with an error. If it is a flush, takes completions out of `queues` until
// it finds an error of the same queue pair that is no flush. Stops after `seconds` or a bounded
// number.
Cause find_cause(const ibv_wc& failed, std::span<ibv_cq* const> queues, double seconds = 0.02);

// Returns "transport retry counter exceeded"; if only flushes arrived, the flush and the state of
// `qp`.
std::string describe(const Cause& cause, ibv_qp* qp);

// Only flushes arrived: if any end knows the reason, it is the other one.
class Flushed : public Error {
 public:
  using Error::Error;
};

}  // namespace cb::verbs
