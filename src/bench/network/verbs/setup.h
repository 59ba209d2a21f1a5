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

// The most that a NIC can do, as its own host sees it: the port's largest MTU and the slot that the
// NIC was built for, not those in use. A port does not tell the rate that it was built for: this is
// the negotiated rate, and a profile states the nominal one.
struct RailLimits {
  std::string name;                            // "mlx5_0"
  std::optional<double> link_bits_per_second;  // data rate
  bool ethernet = false;
  bool ipv6 = false;
  int mtu = 0;                                  // the port's largest MTU, bytes
  int active_mtu = 0;                           // MTU in use, bytes
  std::optional<double> slot_bytes_per_second;  // PCIe, one direction
  std::string slot = {};  // "generation 5 ×16", and what it runs at if that is less
};

// /sys has no MTUs: they stay 0 here.
RailLimits rail_limits(const RdmaPort& port);

// The ranks' NICs and their pairing.
struct Setup {
  Said skip;  // why nothing can be measured; empty if something can
  net::Nodes nodes;
  std::vector<RdmaPort> rails;   // rails of this rank
  std::vector<RdmaPort> driven;  // rails that this rank drives and therefore watches
  std::vector<std::vector<std::string>> rail_names;  // by node
  std::vector<std::vector<RailLimits>> limits;       // by node
  std::shared_ptr<DevicePool> pool;
  std::vector<Said> notes = {};        // of --rails
  std::vector<std::string> gpus = {};  // PCI addresses in CUDA's order, if --memory gpu needs them

  int rail_count() const { return static_cast<int>(rail_names.at(0).size()); }
  // The ceiling of the slower end; nothing if a link rate is unknown (soft-RoCE).
  std::optional<Ceiling> ceiling(const net::RailPair& pair, const Spec& spec) const;
  void describe(Record& record) const;
};

// The reason why this host has no port to use; empty if it has one.
Said why_no_port(const FsRoot& fs);

// Collective. Throws the same UsageError on all ranks if a name is wrong or if hosts have different
// numbers of rails.
Setup set_up(Context& context, const std::vector<std::string>& asked,
             const OptionNames& names = {});

// Collective. Finds this host's GPUs for --memory gpu. Returns a reason on every rank if one rank
// cannot use them, or "".
Said need_gpus(Context& context, Setup& setup, const Params& params);

// Collective. Opens this rank's ports and compares every point with what they can do. Throws the
// same UsageError on all ranks. If a port cannot be opened, only its own pairs fail.
void require_supported(Context& context, const Setup& setup, const std::vector<Point>& points,
                       const OptionNames& names = {});

// Counters of this rank's NICs, before and after one record.
class CounterWatch {
 public:
  CounterWatch(const FsRoot& fs, const Setup& setup);
  // Adds to the record the counters that changed and those that must not change. If `lossless`,
  // adds a check per NIC that nothing was dropped or sent again.
  void stop(Record& record, const Context& context, bool lossless);

 private:
  void await_fresh() const;
  static void check_lossless(const RdmaPort& port, size_t nic,
                             const std::map<std::string, double>& deltas, Record& record);
  const FsRoot& fs_;
  const Setup& setup_;
  std::vector<RdmaCounters> before_;
};

}  // namespace cb::verbs
