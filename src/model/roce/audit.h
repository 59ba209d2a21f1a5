// The settings of RoCE ports against one another and against what lossless traffic needs. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/roce/host.h"

namespace cb {

// What the site wants; absent: what most ports have, or nothing special.
struct RoceWanted {
  std::optional<int> priority = {};       // the lossless one
  std::optional<int> traffic_class = {};  // that applications send; else NCCL_IB_TC, else 0
  std::optional<int> cnp_dscp = {};
  int least_share = 50;  // per cent of the lossless class's bandwidth
};

// `kind` is also the check's name.
struct RoceFinding {
  std::string kind, host, device;
  Said what;  // with the command that mends it
};

struct RoceAudit {
  std::vector<RoceFinding> findings = {};
  std::set<std::string> judged = {};  // kinds for which every port was read
  std::vector<Said> notes = {};       // one for each kind that could not be judged
  std::optional<int> lossless = {};   // the priority
};

// Kinds:
//   pfc          not exactly one lossless priority, or another than on most ports
//   trust        priorities are not taken from the DSCP
//   traffic      the DSCP that is sent lands in a priority that is not lossless
//   ets          the lossless priority shares its class, or the class gets less than least_share
//   ecn          congestion notification is off for the lossless priority
//   cnp          notifications travel in the lossless priority, or otherwise than on most ports
//   pause        global pause is on beside PFC
//   mtu          below what an RDMA MTU of 4096 needs, or another than on most ports
//   switch_mtu   the switch's largest frame is smaller than the port's
//   switch_pfc   the switch holds other priorities lossless
//   gid          no RoCE v2 address, NCCL_IB_GID_INDEX points at another one, or its index differs
//   arp          several ports share a network and answer for one another
//   rp_filter    strict reverse-path filter on a host with several ports
//   source_rule  several ports share a network, or have networks of their own of two or four
//                addresses, without a routing rule for each source
// A host without ports leaves every kind unjudged.
RoceAudit audit_roce(const std::vector<RoceHost>& hosts, const RoceWanted& wanted);
std::vector<std::string> roce_kinds();

// Ethernet MTU that an RDMA MTU of 4096 fits in, with headers of RoCE v2 and some room.
constexpr int kRoceMtu = 4200;

// A row of the cabling plan.
struct PlannedCable {
  std::string host, nic, neighbour, port;
};
// Reads CSV (read_csv()) with the columns host, nic, switch and switch_port in any order. `nic` is
// the RDMA device or the interface. Throws UsageError with the line.
std::vector<PlannedCable> read_port_plan(const std::string& csv, const std::string& file);

// Kinds, by what ports hear of their neighbours: missing (the plan's port is not there), surplus
// (not in the plan), moved, swapped (two cables), rotated (more). They are judged only if every
// planned port of these hosts has heard its neighbour.
void audit_cables(const std::vector<RoceHost>& hosts, const std::vector<PlannedCable>& plan,
                  RoceAudit& audit);
std::vector<std::string> cable_kinds();

}  // namespace cb
