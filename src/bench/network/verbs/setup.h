#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/schedule.h"
#include "bench/network/verbs/device.h"
#include "bench/network/verbs/plan.h"
#include "sys/net/rdma_counters.h"

namespace cb::verbs {

// What a NIC can do at most, as its own host sees it: the port's largest MTU and the slot that the
// NIC was built for, not those in use. A port does not tell what rate it was built for: the rate is
// the negotiated one, and a profile states the nominal.
struct RailLimits {
  std::string name;                            // "mlx5_0"
  std::optional<double> link_bits_per_second;  // data rate
  bool ethernet = false;
  bool ipv6 = false;
  int mtu = 0;                                  // the port's largest, bytes
  int active_mtu = 0;                           // in use
  std::optional<double> slot_bytes_per_second;  // PCIe, one direction
  std::string slot = {};                        // "generation 5 ×16", and what it runs at if less
};

// The MTUs are not in /sys and stay 0 here.
RailLimits rail_limits(const RdmaPort& port);

// The ranks' NICs and how they are paired.
struct Setup {
  Said skip;  // why nothing can be measured; empty if something can
  net::Nodes nodes;
  std::vector<RdmaPort> rails;   // of this rank
  std::vector<RdmaPort> driven;  // those of them that this rank drives, and so watches
  std::vector<std::vector<std::string>> rail_names;  // of each node
  std::vector<std::vector<RailLimits>> limits;       // of each node
  std::shared_ptr<DevicePool> pool;
  std::vector<std::string> gpus = {};  // PCI addresses in CUDA's order, where they are asked for

  int rail_count() const { return static_cast<int>(rail_names.at(0).size()); }
  // Of the slower end; nothing where no link rate is known (soft-RoCE).
  std::optional<Ceiling> ceiling(const net::RailPair& pair, const Spec& spec) const;
  void describe(Record& record) const;
};

// Why this host has no port to use; empty if it has one.
Said why_no_port(const FsRoot& fs);

// Collective. Throws the same UsageError on all ranks for wrong names and for hosts with different
// numbers of rails.
Setup set_up(Context& context, const std::vector<std::string>& asked);

// Collective. Finds this host's GPUs for --memory gpu. Why they cannot be used, on all ranks when
// on one of them they cannot; empty if they can.
Said need_gpus(Context& context, Setup& setup, const Params& params);

// Collective. Opens this rank's ports and compares every point with what they can do. Throws the
// same UsageError on all ranks. A port that cannot be opened costs its own pairs only.
void require_supported(Context& context, const Setup& setup, const std::vector<Point>& points);

// Counters of this rank's NICs around one record.
class CounterWatch {
 public:
  CounterWatch(const FsRoot& fs, const Setup& setup);
  // Adds what changed, and the counters that must not change, to the record.
  // With `lossless` also whether nothing was dropped or sent again, as a check per NIC.
  void stop(Record& record, const Context& context, bool lossless);

 private:
  static void check_lossless(const RdmaPort& port, size_t nic,
                             const std::map<std::string, double>& deltas, Record& record);
  const FsRoot& fs_;
  const Setup& setup_;
  std::vector<RdmaCounters> before_;
};

}  // namespace cb::verbs
