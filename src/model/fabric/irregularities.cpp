#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/fabric/findings.h"

namespace cb {
namespace {

// Links are compared within a class: between the same tiers, adapters being -1.
std::pair<int, int> class_of(const NetLink& link, const std::vector<int>& tier) {
  return std::minmax(tier[link.a.node], tier[link.b.node]);
}

// Somebody allows no more: both ends' settings lead to what runs.
bool restricted(const Net& net, const NetLink& link) {
  const auto a = net.ports.find(link.a), b = net.ports.find(link.b);
  if (a == net.ports.end() || b == net.ports.end()) return false;
  const auto enabled =
      best_rate(a->second.width_enabled & b->second.width_enabled,
                a->second.speed_enabled & b->second.speed_enabled, std::max(4, link.could->lanes));
  return enabled && enabled->bits_per_second() <= link.rate->bits_per_second();
}

void slow_links(const Net& net, const NetShape& shape, std::vector<NetFinding>& out) {
  std::map<std::pair<int, int>, std::vector<const NetLink*>> classes;
  for (const NetLink& link : net.links) {
    const bool aggregates =
        net.nodes[link.a.node].aggregates() || net.nodes[link.b.node].aggregates();
    if (!link.rate || aggregates) continue;
    if (!link.could) {
      classes[class_of(link, shape.tier)].push_back(&link);
    } else if (link.rate->bits_per_second() < link.could->bits_per_second()) {
      out.push_back({"link_rate", net.link_name(link),
                     restricted(net, link)
                         ? said("fabric.restricted", link.rate->text, link.could->text)
                         : said("fabric.below", link.rate->text, link.could->text)});
    }
  }
  for (auto& [tiers, links] : classes) {
    if (links.size() < kEnoughLinks) continue;
    std::ranges::stable_sort(links, {},
                             [](const NetLink* l) { return l->rate->bits_per_second(); });
    // More than half are at this rate or above.
    const LinkRate& usual = *links[(links.size() - 1) / 2]->rate;
    for (const NetLink* link : links) {
      if (link->rate->bits_per_second() >= usual.bits_per_second()) break;
      out.push_back(
          {"link_rate", net.link_name(*link), said("fabric.slow", link->rate->text, usual.text)});
    }
  }
}

void duplicate_guids(const Net& net, std::vector<NetFinding>& out) {
  for (const std::string& id : net.doubled)
    out.push_back({"duplicate_guid", id, said("fabric.duplicate_guid")});
}

// Parts without a link between them may have the same LIDs: each has its own manager.
void duplicate_lids(const Net& net, const NetShape& shape, std::vector<NetFinding>& out) {
  std::map<std::pair<int, size_t>, std::vector<NetEnd>> by_lid;
  for (const auto& [end, lid] : net.lids) by_lid[{lid, shape.component[end.node]}].push_back(end);
  for (const auto& [of, ends] : by_lid) {
    const int lid = of.first;
    if (ends.size() < 2) continue;
    std::string others;
    for (const NetEnd& end : ends) others += (others.empty() ? "" : ", ") + net.end_name(end);
    out.push_back(
        {"duplicate_lid", fmt::format("LID {}", lid), said("fabric.duplicate_lid", others)});
  }
}

// Names tell adapters apart only where somebody has set them: a vendor's default repeats.
void duplicate_names(const Net& net, std::vector<NetFinding>& out) {
  std::map<std::string, size_t> count;
  for (const NetNode& node : net.nodes) {
    const bool named = node.name != node.id && !node.aggregates() &&
                       (node.kind == NetNodeKind::network_switch || !node.nic().empty());
    if (named) ++count[node.name];
  }
  for (const auto& [name, n] : count) {
    const bool default_name = name.find("Mellanox Technologies") != std::string::npos;
    if (n > 1 && !default_name)
      out.push_back({"duplicate_name", name, said("fabric.duplicate_name", n)});
  }
}

void one_sided(const Net& net, std::vector<NetFinding>& out) {
  for (const NetLink& link : net.one_sided)
    out.push_back(
        {"one_sided", net.end_name(link.a), said("fabric.one_sided", net.end_name(link.b))});
}

struct LeafPort {
  NetEnd leaf;
  std::string nic;
  std::string adapter;
};

void wrong_rails(const Net& net, std::vector<NetFinding>& out) {
  std::map<size_t, std::vector<LeafPort>> leaves;
  const auto add = [&](const NetEnd& leaf, const NetEnd& adapter) {
    const NetNode& node = net.nodes[adapter.node];
    if (net.nodes[leaf.node].kind != NetNodeKind::network_switch ||
        node.kind != NetNodeKind::adapter || node.aggregates() || node.nic().empty())
      return;
    leaves[leaf.node].push_back({leaf, node.nic(), node.name});
  };
  for (const NetLink& link : net.links) {
    add(link.a, link.b);
    add(link.b, link.a);
  }
  for (const auto& [leaf, ports] : leaves) {
    std::map<std::string, size_t> count;
    for (const LeafPort& p : ports) ++count[p.nic];
    const auto usual = std::ranges::max_element(count, {}, [](const auto& c) { return c.second; });
    const auto share = static_cast<double>(usual->second) / static_cast<double>(ports.size());
    if (ports.size() < kEnoughLinks || share < kRailShare) continue;
    for (const LeafPort& p : ports) {
      if (p.nic != usual->first)
        out.push_back(
            {"wrong_rail", net.end_name(p.leaf),
             said("fabric.wrong_rail", p.adapter, usual->second, ports.size(), usual->first)});
    }
  }
}

}  // namespace

std::vector<NetFinding> irregularities(const Net& net, const NetShape& shape) {
  std::vector<NetFinding> out;
  slow_links(net, shape, out);
  duplicate_guids(net, out);
  duplicate_lids(net, shape, out);
  duplicate_names(net, out);
  one_sided(net, out);
  wrong_rails(net, out);
  return out;
}

}  // namespace cb
