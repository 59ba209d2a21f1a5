// What ports, devices and subnet managers say of themselves.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "model/fabric/findings.h"

namespace cb {
namespace {

constexpr int kActive = 4, kUp = 5;
constexpr int kMaster = 3, kStandby = 2, kDiscovering = 1;

// The value that more than half of at least kEnoughLinks have.
template <typename Value, typename Key>
std::optional<Value> usual_of(const std::map<Key, Value>& values) {
  std::map<Value, size_t> count;
  for (const auto& [of, value] : values) ++count[value];
  for (const auto& [value, n] : count) {
    if (values.size() >= kEnoughLinks && 2 * n > values.size()) return value;
  }
  return std::nullopt;
}

bool has_master(const Net& net) {
  return std::ranges::any_of(net.managers,
                             [](const SubnetManager& m) { return m.state == kMaster; });
}

// One finding for all questions that a port left open: a device that is off answers none.
void unanswered(const Net& net, std::vector<NetFinding>& out) {
  std::map<NetEnd, std::vector<const Unanswered*>> by_end;
  // A manager that does not answer is none, which is a finding of its own.
  for (const Unanswered& u : net.unanswered) {
    if (u.attribute != "SMInfo" || has_master(net)) by_end[u.after].push_back(&u);
  }
  for (const auto& [end, all] : by_end) {
    const Unanswered& first = *all.front();
    std::set<std::string> attributes;
    for (const Unanswered* u : all) attributes.insert(u->attribute);
    std::string names;
    for (const std::string& name : attributes) names += (names.empty() ? "" : ", ") + name;
    out.push_back({"unanswered", net.end_name(end),
                   first.refused ? said("fabric.refused", names, first.why)
                                 : said("fabric.unanswered", names, first.why)});
  }
}

void port_states(const Net& net, std::vector<NetFinding>& out) {
  static constexpr const char* kNames[] = {"unknown", "Down", "Init", "Armed", "Active"};
  for (const auto& [end, port] : net.ports) {
    if (port.physical != kUp || port.state == kActive || port.state < 1 || port.state > 4) continue;
    if (end.port == 0) continue;
    out.push_back({"port_state", net.end_name(end), said("fabric.port_state", kNames[port.state])});
  }
}

void mtus(const Net& net, std::vector<NetFinding>& out) {
  std::map<NetEnd, int> active;
  for (const NetLink& link : net.links) {
    for (const NetEnd& end : {link.a, link.b}) {
      const auto at = net.ports.find(end);
      if (at != net.ports.end() && at->second.mtu_bytes > 0) active[end] = at->second.mtu_bytes;
    }
  }
  const auto usual = usual_of(active);
  for (const auto& [end, mtu] : active) {
    if (usual && mtu != *usual)
      out.push_back({"mtu", net.end_name(end), said("fabric.mtu", mtu, *usual)});
  }
}

std::string keys_text(const std::vector<uint16_t>& keys) {
  std::string out;
  for (const uint16_t key : keys) out += fmt::format("{}0x{:04x}", out.empty() ? "" : " ", key);
  return out.empty() ? "none" : out;
}

void pkeys(const Net& net, std::vector<NetFinding>& out) {
  std::map<NetEnd, std::vector<uint16_t>> keys;
  for (const auto& [end, port] : net.ports) {
    if (!port.has_pkeys || net.nodes[end.node].aggregates() || port.runs_manager) continue;
    keys[end] = port.pkeys;
    std::ranges::sort(keys[end]);
  }
  const auto usual = usual_of(keys);
  for (const auto& [end, own] : keys) {
    if (usual && own != *usual)
      out.push_back(
          {"pkeys", net.end_name(end), said("fabric.pkeys", keys_text(own), keys_text(*usual))});
  }
}

std::string managers_text(const Net& net, const std::vector<const SubnetManager*>& managers) {
  std::string out;
  for (const SubnetManager* m : managers) out += (out.empty() ? "" : ", ") + net.end_name(m->at);
  return out;
}

void stuck(const Net& net, const SubnetManager& m, std::vector<NetFinding>& out) {
  if (m.state == kDiscovering)
    out.push_back({"manager_stuck", net.end_name(m.at), said("fabric.manager_discovers")});
  else if (m.state == kMaster && m.activity_later && *m.activity_later == m.activity &&
           net.window_seconds.value_or(0) >= kStuckSeconds)
    out.push_back({"manager_stuck", net.end_name(m.at),
                   said("fabric.manager_still", fmt::format("{:.0f}", *net.window_seconds))});
}

// Ports that name another manager than the only master of their part.
void other_manager(const Net& net, const NetShape& shape, const SubnetManager& master,
                   std::vector<NetFinding>& out) {
  for (const auto& [end, port] : net.ports) {
    const bool speaks = port.state == kActive && port.manager_lid > 0 && net.lids.contains(end) &&
                        shape.component[end.node] == shape.component[master.at.node];
    if (speaks && master.lid > 0 && port.manager_lid != master.lid)
      out.push_back({"manager", net.end_name(end),
                     said("fabric.other_manager", port.manager_lid, master.lid)});
  }
}

// Each part of the subnet with links between switches or to them has its own manager.
void managers_of_part(const Net& net, const NetShape& shape, size_t part,
                      std::vector<NetFinding>& out) {
  std::vector<const SubnetManager*> masters;
  for (const SubnetManager& m : net.managers) {
    if (shape.component[m.at.node] != part) continue;
    if (m.state == kMaster) masters.push_back(&m);
    stuck(net, m, out);
  }
  if (masters.empty()) {
    const auto first = std::ranges::find(shape.component, part) - shape.component.begin();
    const std::string& name = net.nodes[static_cast<size_t>(first)].name;
    out.push_back({"manager", "", said("fabric.no_manager", name)});
    return;
  }
  if (masters.size() > 1)
    out.push_back({"second_master", managers_text(net, masters),
                   said("fabric.second_master", masters.size())});
  else
    other_manager(net, shape, *masters.front(), out);
}

void firmwares(const Net& net, std::vector<NetFinding>& out) {
  std::map<std::string, std::map<size_t, std::string>> models;
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    const NetNode& node = net.nodes[i];
    if (node.firmware.empty() || node.aggregates()) continue;
    const std::string model =
        node.model.empty() ? fmt::format("0x{:x}/{}", node.vendor, node.device) : node.model;
    models[model][i] = node.firmware;
  }
  for (const auto& [model, of] : models) {
    const auto usual = usual_of(of);
    for (const auto& [node, firmware] : of) {
      if (usual && firmware != *usual)
        out.push_back(
            {"firmware", net.nodes[node].name, said("fabric.firmware", firmware, model, *usual)});
    }
  }
}

void aggregation(const Net& net, const NetShape& shape, std::vector<NetFinding>& out) {
  std::set<size_t> with;
  for (const NetLink& link : net.links) {
    if (net.nodes[link.a.node].aggregates()) with.insert(link.b.node);
    if (net.nodes[link.b.node].aggregates()) with.insert(link.a.node);
  }
  std::map<int, std::map<size_t, bool>> tiers;
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (net.nodes[i].kind == NetNodeKind::network_switch)
      tiers[shape.tier[i]][i] = with.contains(i);
  }
  for (const auto& [tier, switches] : tiers) {
    if (usual_of(switches) != true) continue;
    for (const auto& [node, has] : switches) {
      if (!has) out.push_back({"sharp", net.nodes[node].name, said("fabric.no_aggregation")});
    }
  }
}

}  // namespace

size_t standby_managers(const Net& net) {
  return static_cast<size_t>(std::ranges::count(net.managers, kStandby, &SubnetManager::state));
}

std::vector<NetFinding> state_findings(const Net& net, const NetShape& shape) {
  std::vector<NetFinding> out;
  unanswered(net, out);
  // Without a manager no port becomes active: that is one finding, not one a port.
  if (net.knows.ports && (!net.knows.managers || has_master(net))) port_states(net, out);
  if (net.knows.mtus) mtus(net, out);
  if (net.knows.pkeys) pkeys(net, out);
  for (size_t part = 0; net.knows.managers && part < shape.components; ++part)
    managers_of_part(net, shape, part, out);
  if (net.knows.firmware) firmwares(net, out);
  aggregation(net, shape, out);
  for (const NetAlarm& alarm : net.alarms)
    out.push_back({"alarm", alarm.object, said("fabric.alarm", alarm.severity, alarm.what)});
  return out;
}

}  // namespace cb
