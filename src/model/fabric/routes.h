// Where the forwarding tables of a subnet lead to. Pure.
#pragma once

#include <optional>
#include <vector>

#include "model/fabric/findings.h"

namespace cb {

struct RouteFigures {
  size_t pairs = 0;         // leaf and adapter: what every adapter of the leaf reaches alike
  size_t unreached = 0;     // of these
  size_t longest_hops = 0;  // switches on the longest route
  // All adapters to all: the load of the busiest link upwards of a switch over the mean of all of
  // that switch's; the worst switch. Nothing where no switch has two.
  std::optional<double> uplink_load = {};
  // Adapter i sends to adapter i + s, by LID, for kShifts values of s: the share of its own rate
  // that a flow gets where flows share the links on their routes evenly; the mean of all flows.
  std::optional<double> shift_share = {};
  // The most flows on one link between switches; the mean over the shifts.
  std::optional<double> shift_flows = {};
};

struct RouteReport {
  std::vector<NetFinding> findings;
  RouteFigures figures;
};

// Follows the tables from every leaf to every adapter of a host, by its first LID. Switches whose
// tables were not read are left out. Kinds:
//   route_hole    a switch sends a LID to no port, to a port without link, or to another adapter
//   route_loop    switches send a LID round
//   credit_loop   the routes that arrive wait for one another's buffers in a ring, on one virtual
//                 lane
//   route_balance one of a switch's links upwards carries more than kBalance times the mean,
//   rounded
//                 up, of destinations, and at least kEnoughLinks more than that
RouteReport follow_routes(const Net& net, const NetShape& shape);
constexpr double kBalance = 1.5;
constexpr size_t kShifts = 32;

}  // namespace cb
