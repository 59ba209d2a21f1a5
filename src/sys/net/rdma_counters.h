#pragma once

#include <map>
#include <string>
#include <vector>

#include "sys/net/rdma_port.h"
#include "sys/os/fs_root.h"

namespace cb {

// Counters of a port under the names used in records. What a driver calls otherwise is renamed to
// the common name ("out_of_seq_request" of rxe is out_of_sequence); what has no common name keeps
// its own. A counter that the driver does not have is absent.
using RdmaCounters = std::map<std::string, double>;

// From /sys: counters/ (absent with rxe and EFA) and hw_counters/ of the port; and, on a machine,
// the statistics of the port's interface that tell of pauses, marks, drops and errors, behind
// "eth_".
RdmaCounters read_rdma_counters(const FsRoot& fs, const RdmaPort& port);

// "local_ack_timeout_err" → "ack_timeouts" and so on, by driver.
std::string common_counter_name(const std::string& driver, const std::string& name);

// What must not move while a healthy link is measured: link downs, errors, drops, retransmissions.
bool is_fault_counter(const std::string& name);
// Congestion that a lossless network answers to: pauses, marks, notifications.
bool is_congestion_counter(const std::string& name);

// True if a legacy counter of few bits stands at its largest value: its delta says nothing.
bool is_saturated(const std::string& name, double value);

}  // namespace cb
