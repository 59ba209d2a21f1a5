#include "bench/network/subnet/walk.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb::net {
namespace {

constexpr int kLinkUp = 5;
constexpr size_t kMostHops = 62;  // of a directed route: 63 with the last

class SubnetWalk {
 public:
  SubnetWalk(MadExchange& exchange, uint64_t key) : exchange_(exchange), key_(key) {}

  Walk run() {
    visit({}, std::nullopt);
    exchange_.run();
    link();
    return std::move(walk_);
  }

 private:
  Net& net() { return walk_.net; }

  void ask(const MadPath& path, MadAttribute attribute, uint32_t modifier, OnMadAnswer then) {
    exchange_.ask({.attribute = attribute, .modifier = modifier, .path = path, .key = key_},
                  std::move(then));
  }

  void note_unanswered(const NetEnd& after, MadAttribute attribute, const MadAnswer& answer) {
    net().unanswered.push_back({after, attribute_name(attribute), answer.why, answer.refused});
  }

  // `from`: the port whose other end is asked; none for our own adapter.
  void visit(const MadPath& path, std::optional<NetEnd> from) {
    ask(path, MadAttribute::node_info, 0, [this, path, from](const MadAnswer& answer) {
      const auto info = answer.mad ? decode_node_info(*answer.mad) : std::nullopt;
      if (info) {
        found(path, from, *info);
      } else if (from) {
        note_unanswered(*from, MadAttribute::node_info,
                        answer.mad ? MadAnswer{std::nullopt, "no node's answer", true} : answer);
      }
    });
  }

  void found(const MadPath& path, std::optional<NetEnd> from, const NodeInfo& info) {
    const auto [at, fresh] = by_guid_.try_emplace(info.node_guid, walk_.nodes.size());
    const size_t node = at->second;
    if (fresh) add(path, info);
    const NodeInfo& known = walk_.nodes[node].info;
    const bool adapter = info.kind == NetNodeKind::adapter;
    // Each port of an adapter has a GUID of its own.
    if (known.system_guid != info.system_guid || known.ports != info.ports ||
        known.kind != info.kind ||
        ((!adapter || known.local_port == info.local_port) && known.port_guid != info.port_guid))
      doubled(node);
    const NetEnd here{node, info.local_port};
    if (adapter && !net().ports.contains(here))
      ask_port(node, path, info.local_port, info.port_guid);
    if (!from) return;
    told_[*from] = {*from, here, {}, {}};
    if (info.kind != NetNodeKind::network_switch) {
      // Nobody asks through an adapter for its other end: this is both ends' word.
      const auto [back, first] = told_.try_emplace(here, NetLink{here, *from, {}, {}});
      if (!first && back->second.b != *from) doubled(node);
    }
  }

  void doubled(size_t node) {
    const std::string& id = net().nodes[node].id;
    if (std::ranges::find(net().doubled, id) == net().doubled.end()) net().doubled.push_back(id);
  }

  void add(const MadPath& path, const NodeInfo& info) {
    const bool is_switch = info.kind == NetNodeKind::network_switch;
    const char* letter = is_switch ? "S" : info.kind == NetNodeKind::adapter ? "H" : "R";
    const std::string id = fmt::format("{}-{:016x}", letter, info.node_guid);
    const size_t node = walk_.nodes.size();
    walk_.nodes.push_back({path, info});
    net().nodes.push_back({.id = id,
                           .kind = info.kind,
                           .name = id,
                           .ports = info.ports,
                           .guid = info.node_guid,
                           .system_guid = info.system_guid,
                           .vendor = info.vendor,
                           .device = info.device});
    ask(path, MadAttribute::node_description, 0, [this, node](const MadAnswer& answer) {
      const std::string name = answer.mad ? decode_description(*answer.mad) : "";
      if (!name.empty()) net().nodes[node].name = name;
      if (!answer.mad) note_unanswered({node, 0}, MadAttribute::node_description, answer);
    });
    if (is_switch) ask_switch(node, path, info.port_guid);
  }

  void ask_switch(size_t node, const MadPath& path, uint64_t guid) {
    ask(path, MadAttribute::switch_info, 0, [this, node](const MadAnswer& answer) {
      if (answer.mad)
        walk_.nodes[node].table_top = decode_switch_info(*answer.mad).table_top;
      else
        note_unanswered({node, 0}, MadAttribute::switch_info, answer);
    });
    // What port 0 says decides how the other ports' speeds are read.
    ask(path, MadAttribute::port_info, 0, [this, node, path, guid](const MadAnswer& answer) {
      if (!answer.mad) {
        note_unanswered({node, 0}, MadAttribute::port_info, answer);
      } else {
        const PortInfo info = decode_port_info(*answer.mad);
        walk_.nodes[node].extended_speeds = info.extended_speeds;
        keep({node, 0}, info, guid);
      }
      for (int port = 1; port <= walk_.nodes[node].info.ports; ++port)
        ask_port(node, path, port, guid);
    });
  }

  void ask_port(size_t node, const MadPath& path, int port, uint64_t guid) {
    net().ports[{node, port}];
    ask(path, MadAttribute::port_info, static_cast<uint32_t>(port),
        [this, node, path, port, guid](const MadAnswer& answer) {
          const NetEnd end{node, port};
          if (!answer.mad) {
            net().ports.erase(end);
            note_unanswered(end, MadAttribute::port_info, answer);
            return;
          }
          const bool is_switch = net().nodes[node].kind == NetNodeKind::network_switch;
          const auto extended =
              is_switch ? std::optional(walk_.nodes[node].extended_speeds) : std::nullopt;
          const PortInfo info = decode_port_info(*answer.mad, extended);
          keep(end, info, guid);
          // Of adapters, only the first question's own passes datagrams on.
          if (info.port.physical != kLinkUp || path.size() >= kMostHops) return;
          if (!is_switch && !path.empty()) return;
          MadPath next = path;
          next.push_back(static_cast<uint8_t>(port));
          visit(next, end);
        });
  }

  void keep(const NetEnd& end, const PortInfo& info, uint64_t guid) {
    NetPort& port = net().ports[end];
    port = info.port;
    port.guid = guid;
    if (port.physical == kLinkUp) rates_[end] = active_rate(info);
    if (info.lid > 0 &&
        (end.port == 0 || net().nodes[end.node].kind != NetNodeKind::network_switch)) {
      net().lids[end] = info.lid;
      if (info.lid_mask > 0) net().lid_masks[end] = info.lid_mask;
    }
  }

  // A far end answered, so its side of the link is known even where its own port was not asked.
  void link() {
    std::map<NetEnd, NetLink> all = told_;
    for (const auto& [from, link] : told_) all.try_emplace(link.b, NetLink{link.b, from, {}, {}});
    told_ = all;
    std::erase_if(told_, [&](const auto& item) {
      const NetLink& link = item.second;
      if (all.at(link.b).b == link.a) return false;
      doubled(link.b.node);
      return true;
    });
    for (auto& [from, link] : told_) {
      const auto a = rates_.find(link.a), b = rates_.find(link.b);
      if (a != rates_.end()) link.rate = a->second;
      if (!link.rate && b != rates_.end()) link.rate = b->second;
    }
    join_ends(net(), told_);
    derive_possible_rates(net());
    net().knows.ports = net().knows.mtus = true;
    net().knows.managers = true;
  }

  MadExchange& exchange_;
  uint64_t key_;
  Walk walk_;
  std::unordered_map<uint64_t, size_t> by_guid_;
  std::map<NetEnd, NetLink> told_;
  std::map<NetEnd, std::optional<LinkRate>> rates_;
};

}  // namespace

Walk walk_subnet(MadExchange& exchange, uint64_t key) { return SubnetWalk(exchange, key).run(); }

}  // namespace cb::net
