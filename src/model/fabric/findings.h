// What is wrong with a subnet, by its own regularity and by its cabling plan. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "model/fabric/net.h"

namespace cb {

// `kind` is also the check's name: "link_rate", "swapped", …
struct NetFinding {
  std::string kind;
  std::string part;  // the port, link or device that it is about
  Said what;         // with the next step
};

struct LeafRatio {
  size_t node = 0;
  double ratio = 0;
};

// How the subnet is built. Leaves are switches with adapters of hosts.
struct NetShape {
  size_t adapters = 0;  // without aggregation nodes
  size_t switches = 0;
  size_t routers = 0;
  size_t hosts = 0;
  size_t tiers = 0;               // of switches; 0 where no switch has an adapter
  size_t components = 0;          // parts of the subnet without a link between them
  std::vector<int> tier;          // by node: 0 of a leaf, -1 of what is no switch or not reached
  std::vector<size_t> component;  // by node: the number of its part
  // Of each switch with links upwards: rate to its adapters and lower tiers over rate upwards.
  std::vector<LeafRatio> oversubscription;
};

NetShape shape_of(const Net& net);

// Kinds link_rate, duplicate_guid, duplicate_lid, duplicate_name, one_sided, wrong_rail:
//   link_rate     both ends can do more, or, where they do not say what they can do, more than half
//                 of at least kEnoughLinks links between the same tiers are faster
//   wrong_rail    at least kRailShare of at least kEnoughLinks adapters of its leaf have one NIC
//                 name, and this one another
std::vector<NetFinding> irregularities(const Net& net, const NetShape& shape);
constexpr size_t kEnoughLinks = 4;
constexpr double kRailShare = 0.9;

// What ports and their managers say. Kinds, each only where Net::knows says that it was read:
//   unanswered      a question without an answer, or an answer with an error
//   port_state      a link that is up and not active
//   mtu             an end with a smaller MTU than both can do, or than more than half of the ends
//   pkeys           an adapter with other keys than more than half of at least kEnoughLinks
//   manager         no master subnet manager, or ports that name another LID than the master's
//   second_master   more than one
//   manager_stuck   its activity stands still over at least kStuckSeconds, or it still discovers
//   firmware        another than more than half of at least kEnoughLinks devices of its model
//   sharp           a switch without aggregation node, where more than half of the switches of its
//                   tier have one
//   alarm           the fabric's manager has raised one
std::vector<NetFinding> state_findings(const Net& net, const NetShape& shape);
constexpr double kStuckSeconds = 10;
// Managers that would take over from a master.
size_t standby_managers(const Net& net);

// Errors per bit that a link may have: below 1e-12 before correction, InfiniBand Architecture
// Specification volume 2.
constexpr double kErrorsPerBit = 1e-12;
// Errors per bit that `window_seconds` without an error shows with 95 % confidence: 3 over the bits
// in it (rule of three), at the slowest link's rate. Nothing without links of a known rate.
std::optional<double> shown_errors_per_bit(const Net& net);

// Kinds, by the window where there is one, else since the counters were cleared:
//   errors      link recoveries, links that went down, integrity errors, buffer overruns, or
//               receive errors that are no neighbour's; or symbol errors above kErrorsPerBit of
//               what was received, and any where nobody counted what was received. Without a window
//               links that went down or recovered do not count: a host may have been restarted
//   saturated   a counter stands at its largest value: what it counted is not known
//   cleared     a counter fell within the window
std::vector<NetFinding> counter_findings(const Net& net);
// Ends with any error counter above 0 in what is judged.
size_t ends_with_errors(const Net& net);

// A link of the plan: device and port of both ends. An adapter is "host nic" or "host/nic".
struct PlannedEnd {
  std::string device;  // in small letters
  int port = 0;
  auto operator<=>(const PlannedEnd&) const = default;
};
struct PlannedLink {
  PlannedEnd a, b;  // a < b
  auto operator<=>(const PlannedLink&) const = default;
};

// Reads CSV as people write it (byte order mark, quoted commas, blank lines, \r\n) with the columns
// a_device, a_port, b_device and b_port in any order; others are passed over. Throws UsageError
// with the line.
std::vector<PlannedLink> read_cabling(const std::string& csv, const std::string& file);

// The difference of plan and subnet. Every port has at most one link in each, so the links in which
// they differ form paths and cycles, and each shape has a name: missing, surplus, moved, swapped
// (two cables), rotated (more than two), chain. Of links that are not planned only those count that
// touch a device of the plan.
struct PlanDifference {
  std::vector<NetFinding> findings;
  // Links of the plan that join the same two devices at other ports: they carry the same, and the
  // paper is wrong.
  std::vector<std::string> at_other_ports;
};
PlanDifference against_plan(const Net& net, const std::vector<PlannedLink>& plan);

// The links of an earlier look at the subnet as a plan. Of ports that several devices of one name
// would share, the first.
std::vector<PlannedLink> plan_of(const Net& before);
// Kind `changed`: a link's rate, or a device's firmware, is another than before; `gone` and `new`
// are devices.
std::vector<NetFinding> changes_since(const Net& before, const Net& net);

enum class NetClass { lone_switches, fat_tree, rail_optimised, dragonfly, irregular };
struct NetTopology {
  NetClass is = NetClass::irregular;
  double fits = 0;  // share of what the class asks for: links, or leaves, that are as it says
};
// lone_switches   no link between switches
// fat_tree        links between switches join neighbouring tiers; the share that does
// rail_optimised  as fat_tree, and at least kRailShare of each leaf's adapters have one NIC name,
// of
//                 several; the lesser of both shares
// dragonfly       links of the highest tier join groups, and every two groups are joined; the share
//                 of pairs of groups that is
// irregular       none of these fits kRailShare
NetTopology topology_of(const Net& net, const NetShape& shape);

}  // namespace cb
