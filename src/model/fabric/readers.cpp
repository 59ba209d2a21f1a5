#include "model/fabric/readers.h"

#include <algorithm>

#include "model/fabric/net_builder.h"

namespace cb {
namespace {

constexpr std::string_view kCacheMagic = "\x2b\x83\xe7\x8f";

bool is_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return false;
  if (text[first] == '{') return true;
  const size_t next = text.find_first_not_of(" \t\r\n", first + 1);
  return text[first] == '[' && next != std::string_view::npos &&
         (text[next] == '{' || text[next] == ']');
}

bool has_line(std::string_view text, std::string_view begins) {
  return text.starts_with(begins) ||
         text.find("\n" + std::string(begins)) != std::string_view::npos;
}

// Fills what `into` does not know.
void fill(int& into, int from) {
  if (into == 0) into = from;
}
void fill(unsigned& into, unsigned from) {
  if (into == 0) into = from;
}

void fill_port(NetPort& into, const NetPort& from) {
  fill(into.state, from.state);
  fill(into.physical, from.physical);
  fill(into.width_supported, from.width_supported);
  fill(into.width_enabled, from.width_enabled);
  fill(into.speed_supported, from.speed_supported);
  fill(into.speed_enabled, from.speed_enabled);
  fill(into.mtu_bytes, from.mtu_bytes);
  fill(into.mtu_cap_bytes, from.mtu_cap_bytes);
  fill(into.data_lanes, from.data_lanes);
  fill(into.manager_lid, from.manager_lid);
  into.runs_manager = into.runs_manager || from.runs_manager;
  if (!into.rate) into.rate = from.rate;
  if (into.guid == 0) into.guid = from.guid;
  if (!into.has_pkeys) into.pkeys = from.pkeys;
  into.has_pkeys = into.has_pkeys || from.has_pkeys;
  into.counts.insert(from.counts.begin(), from.counts.end());
  into.moved.insert(from.moved.begin(), from.moved.end());
}

void fill_node(NetNode& into, const NetNode& from) {
  if (into.name == into.id && from.name != from.id) into.name = from.name;
  fill(into.ports, from.ports);
  if (into.system_guid == 0) into.system_guid = from.system_guid;
  fill(into.vendor, from.vendor);
  fill(into.device, from.device);
  if (into.model.empty()) into.model = from.model;
  if (into.firmware.empty()) into.firmware = from.firmware;
  if (into.forwards.empty()) into.forwards = from.forwards;
}

class NetJoin {
 public:
  void add(const Net& from) {
    std::vector<size_t> place;
    for (size_t i = 0; i < from.nodes.size(); ++i) place.push_back(place_of(from, i));
    const auto moved = [&](const NetEnd& end) { return NetEnd{place[end.node], end.port}; };
    for (const NetLink& link : from.links) {
      out_.tell(moved(link.a), moved(link.b), link.rate, link.could);
      out_.tell(moved(link.b), moved(link.a), link.rate, link.could);
    }
    for (const NetLink& link : from.one_sided)
      out_.tell(moved(link.a), moved(link.b), link.rate, link.could);
    for (const auto& [end, lid] : from.lids) out_.net.lids.try_emplace(moved(end), lid);
    for (const auto& [end, mask] : from.lid_masks) out_.net.lid_masks.try_emplace(moved(end), mask);
    for (const auto& [end, port] : from.ports) {
      fill_port(out_.net.ports[moved(end)], port);
      if (port.guid != 0 && from.nodes[end.node].kind == NetNodeKind::adapter)
        by_port_guid_.try_emplace(port.guid, place[end.node]);
    }
    for (SubnetManager manager : from.managers) {
      manager.at = moved(manager.at);
      out_.net.managers.push_back(manager);
    }
    for (Unanswered u : from.unanswered) {
      u.after = moved(u.after);
      out_.net.unanswered.push_back(u);
    }
    merge_rest(from);
  }

  // Names of what was added so far may be used from now on.
  void next_file() { by_name_before_ = by_name_; }

  Net finish() { return out_.finish(); }

 private:
  void merge_rest(const Net& from) {
    Net& net = out_.net;
    for (const std::string& id : from.doubled) {
      if (std::ranges::find(net.doubled, id) == net.doubled.end()) net.doubled.push_back(id);
    }
    net.alarms.insert(net.alarms.end(), from.alarms.begin(), from.alarms.end());
    if (!net.window_seconds) net.window_seconds = from.window_seconds;
    NetKnows& knows = net.knows;
    knows.ports |= from.knows.ports;
    knows.mtus |= from.knows.mtus;
    knows.managers |= from.knows.managers;
    knows.pkeys |= from.knows.pkeys;
    knows.tables |= from.knows.tables;
    knows.counters |= from.knows.counters;
    knows.firmware |= from.knows.firmware;
    knows.alarms |= from.knows.alarms;
  }

  size_t place_of(const Net& from, size_t i) {
    const NetNode& node = from.nodes[i];
    const auto at = known(from, i);
    const size_t place = at ? *at : fresh(from, node);
    fill_node(out_.net.nodes[place], node);
    if (node.name != node.id) by_name_.try_emplace({node.kind, node.name}, place);
    return place;
  }

  // A port's GUID may be another adapter's own.
  size_t fresh(const Net& from, const NetNode& node) {
    const bool free = node.guid != 0 && !out_.find(node.guid);
    const size_t place = out_.node(free ? node.guid : --unnamed_, node.kind);
    out_.net.nodes[place].id = out_.net.nodes[place].name = node.id;
    out_.net.nodes[place].guid = node.guid;
    if (from.adapters_by_port) by_port_guid_.try_emplace(node.guid, place);
    return place;
  }

  std::optional<size_t> known(const Net& from, size_t i) const {
    const NetNode& node = from.nodes[i];
    const auto own = node.guid == 0 ? std::nullopt : out_.find(node.guid);
    if (!from.adapters_by_port) {
      if (own) return own;
    } else if (node.guid != 0) {
      const auto port = by_port_guid_.find(node.guid);
      if (port != by_port_guid_.end()) return port->second;
      if (own && out_.net.nodes[*own].kind == NetNodeKind::network_switch) return own;
    }
    // A name finds a node only across files: two of one file with one name stay two.
    const auto name = by_name_before_.find({node.kind, node.name});
    if (name != by_name_before_.end() && node.name != node.id && !node.aggregates())
      return name->second;
    return own;
  }

  NetBuilder out_;
  std::map<uint64_t, size_t> by_port_guid_;
  std::map<std::pair<NetNodeKind, std::string>, size_t> by_name_, by_name_before_;
  uint64_t unnamed_ = 0;  // counts down from the largest: no GUID of a device
};

}  // namespace

Net read_subnet(const std::string& text, const std::string& file) {
  if (text.starts_with(kCacheMagic)) return read_cache(text, file);
  if (has_line(text, "START_NODES")) return read_db_csv(text, file);
  if (is_json(text)) return read_ufm(text, file);
  if (has_line(text, "Unicast lids")) return read_forwarding(text, file);
  if (text.find("==(") != std::string::npos) return read_iblinkinfo(text, file);
  if (has_line(text, "## Summary:") || has_line(text, "Errors for "))
    return read_ibqueryerrors(text, file);
  return read_ibnetdiscover(text, file);
}

Net join_nets(const std::vector<Net>& nets) {
  if (nets.size() == 1) return nets.front();
  // First those that know nodes by their own GUIDs; of these, those with links.
  std::vector<const Net*> order;
  for (const Net& net : nets) order.push_back(&net);
  std::stable_partition(order.begin(), order.end(),
                        [](const Net* net) { return !net->links.empty(); });
  std::stable_partition(order.begin(), order.end(),
                        [](const Net* net) { return !net->adapters_by_port; });
  NetJoin join;
  for (const Net* net : order) {
    join.add(*net);
    join.next_file();
  }
  return join.finish();
}

}  // namespace cb
