// Where a subnet's switches, links and findings stand in its picture: small enough for a record, as
// switches are grouped and links counted. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fabric/findings.h"

namespace cb {

struct LayoutSwitch {
  std::string name;
  size_t group = 0;  // index into FabricLayout::groups
  // Hosts with an adapter on it, by the name of that NIC (empty: the adapter names none).
  std::map<std::string, std::vector<std::string>> hosts = {};

  size_t adapters() const;
};

// Switches of one tier that are drawn as one box. Those of a group follow one another.
struct LayoutGroup {
  int tier = 0;         // 0: leaves
  std::string rail;     // the NIC that nearly all adapters below have; empty: several
  size_t pod = 0;       // 0: none; from 1, parts of the subnet without its highest tier
  size_t last_pod = 0;  // of several that share a box
  size_t links_within = 0;
};

struct LayoutBundle {
  size_t lower = 0, upper = 0;  // groups, in this order of tiers
  size_t links = 0;
};

// A device (`from`), a link between switches (`from`, `to`), or an adapter on its leaf (`from`,
// `host`). `absent`: it is in the plan and not there.
struct LayoutPlace {
  std::optional<size_t> from = {}, to = {};
  std::string host = {};
  bool absent = false;
  auto operator<=>(const LayoutPlace&) const = default;
};

struct LayoutFinding {
  std::string kind, part;  // as the record's check has them
  std::vector<LayoutPlace> places;
};

struct FabricLayout {
  size_t tiers = 0, hosts = 0, adapters = 0, links = 0;
  std::vector<LayoutSwitch> switches;
  std::vector<LayoutGroup> groups;  // by tier from the leaves upwards
  std::vector<LayoutBundle> bundles;
  std::vector<LayoutFinding> findings;
  size_t findings_left_out = 0;  // beyond kLayoutFindings
};

// A tier of at most kSingleSwitches switches has a group for each; else they are grouped by pod and
// rail if that gives at most kSingleSwitches groups, else by pod, without pods by rail. There are
// at most kLayoutGroups: more pods share groups, and more rails are one group.
constexpr size_t kSingleSwitches = 12;
constexpr size_t kLayoutGroups = 20;
constexpr size_t kLayoutFindings = 400;  // of each kind the same number, as far as there are any

// Kind of what is drawn besides findings: a link of the plan at other ports of the same two
// devices.
constexpr const char* kOtherPorts = "other_ports";

FabricLayout layout_of(const Net& net, const NetShape& shape,
                       const std::vector<NetFinding>& findings);

// The record's fact that holds the layout, as one line of JSON.
constexpr const char* kLayoutFact = "subnet_layout";
std::string layout_text(const FabricLayout& layout);
// Nothing for a text that is no layout, or points to what it does not have.
std::optional<FabricLayout> parse_layout(std::string_view text);

// Lines "HOST NIC LEAF", or "HOST LEAF" where an adapter names no NIC: what --leaf-map reads.
std::string leaf_map_text(const FabricLayout& layout);

}  // namespace cb
