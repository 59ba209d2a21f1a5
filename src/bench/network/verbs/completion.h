#pragma once

#include <span>
#include <string>

#include "sys/net/verbs.h"

// Why a queue pair ended. A failed request takes its queue pair to the error state, in which all
// that is still queued is flushed (IB Architecture Specification vol. 1, 10.3.1 and 10.8.5; the
// status IBV_WC_WR_FLUSH_ERR). So a flush only says that something else has failed before, often in
// the other queue.
namespace cb::verbs {

struct Cause {
  ibv_wc completion;  // the one that ended the queue pair; if that was not delivered, a flush
  bool delivered;
};

// `failed`: a completion with an error. If it is a flush, takes what else is in `queues` until the
// first error of the same queue pair that is none, for `seconds` and a bounded number at most.
Cause find_cause(const ibv_wc& failed, std::span<ibv_cq* const> queues, double seconds = 0.02);

// "transport retry counter exceeded"; where only flushes came, that and the state of `qp`.
std::string describe(const Cause& cause, ibv_qp* qp);

// Only flushes came: if anybody knows the reason it is the other end.
class Flushed : public Error {
 public:
  using Error::Error;
};

}  // namespace cb::verbs
