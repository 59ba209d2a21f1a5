#pragma once

#include <map>
#include <string>

#include "core/messages/said.h"

// Whether a RoCE port stayed lossless under load, from the deltas of its counters.
namespace cb {

struct Lossless {
  bool known = false;   // true if the port has a counter that would have moved
  bool passed = false;  // true if nothing was dropped, resent or out of order
  bool pause_before_mark =
      false;        // PFC paused and ECN marked nothing: the thresholds are the wrong way round
  double lost = 0;  // sum of the deltas of drops and retransmissions
  Said summary;     // "drops 0, out of sequence 0, pauses 12, ECN marks 340, CNPs 338"
};

// `deltas` uses the common names of src/sys/net/rdma_counters.h. A lossless fabric answers
// congestion first with ECN marks and CNPs, and with PFC pauses only in the last resort. A drop or
// a retransmission is a failure.
Lossless judge_lossless(const std::map<std::string, double>& deltas);

}  // namespace cb
