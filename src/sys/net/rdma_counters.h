#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "sys/net/rdma_port.h"
#include "sys/os/fs_root.h"

namespace cb {

// Counters of a port under the names used in records. A driver's own name is replaced by the common
// name ("out_of_seq_request" of rxe is out_of_sequence); a counter without a common name keeps its
// own. A counter that the driver lacks is absent.
using RdmaCounters = std::map<std::string, double>;

// Reads the port's counters/ (absent in rxe and EFA) and hw_counters/ below /sys. On a machine also
// reads the interface's statistics about pauses, marks, drops and errors, with the prefix "eth_".
RdmaCounters read_rdma_counters(const FsRoot& fs, const RdmaPort& port);

// Returns how long a reading of hw_counters/ may show values of the past: the kernel asks the
// device again only after `lifespan` milliseconds (drivers/infiniband/core/sysfs.c, 10 by default,
// at most 10,000), counted in its ticks. Zero where the driver has no such file.
std::chrono::milliseconds rdma_counters_age(const FsRoot& fs, const RdmaPort& port);

// Returns the common name: "local_ack_timeout_err" → "ack_timeouts", by driver.
std::string common_counter_name(const std::string& driver, const std::string& name);

// True for counters that must not move while a healthy link is measured: link downs, errors, drops,
// retransmissions.
bool is_fault_counter(const std::string& name);
// True for counters of congestion that a lossless network reacts to: pauses, marks, notifications.
bool is_congestion_counter(const std::string& name);

// True if a legacy counter with few bits is at its largest value: its delta means nothing.
bool is_saturated(const std::string& name, double value);

}  // namespace cb
