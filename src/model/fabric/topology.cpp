// Which class of topology a subnet is of, and how well it fits.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "model/fabric/findings.h"

namespace cb {
namespace {

struct SwitchLinks {
  std::vector<const NetLink*> all;
  size_t neighbouring = 0;  // between tiers that follow one another
};

SwitchLinks switch_links(const Net& net, const NetShape& shape) {
  SwitchLinks out;
  for (const NetLink& link : net.links) {
    const int a = shape.tier[link.a.node], b = shape.tier[link.b.node];
    if (a < 0 || b < 0) continue;
    out.all.push_back(&link);
    out.neighbouring += std::abs(a - b) == 1 ? 1 : 0;
  }
  return out;
}

double share_of(size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The share of leaves of which kRailShare of the adapters have one NIC name; 0 where all leaves
// have the same, as that is no rail.
double rail_share(const Net& net) {
  std::map<size_t, std::map<std::string, size_t>> leaves;
  const auto add = [&](const NetEnd& leaf, const NetEnd& adapter) {
    const NetNode& node = net.nodes[adapter.node];
    if (net.nodes[leaf.node].kind == NetNodeKind::network_switch &&
        node.kind == NetNodeKind::adapter && !node.aggregates() && !node.nic().empty())
      ++leaves[leaf.node][node.nic()];
  };
  for (const NetLink& link : net.links) {
    add(link.a, link.b);
    add(link.b, link.a);
  }
  std::set<std::string> rails;
  size_t pure = 0;
  for (const auto& [leaf, nics] : leaves) {
    size_t all = 0;
    for (const auto& [nic, n] : nics) all += n;
    const auto most = std::ranges::max_element(nics, {}, [](const auto& c) { return c.second; });
    if (share_of(most->second, all) < kRailShare) continue;
    ++pure;
    rails.insert(most->first);
  }
  return rails.size() < 2 ? 0 : share_of(pure, leaves.size());
}

// Groups are what hangs together without the links within the highest tier.
double dragonfly_share(const Net& net, const NetShape& shape, const SwitchLinks& links) {
  const int top = static_cast<int>(shape.tiers) - 1;
  std::vector<size_t> group(net.nodes.size());
  std::iota(group.begin(), group.end(), size_t{0});
  const auto root = [&](size_t node) {
    while (group[node] != node) node = group[node] = group[group[node]];
    return node;
  };
  std::vector<const NetLink*> global;
  for (const NetLink* link : links.all) {
    const bool within = shape.tier[link->a.node] == top && shape.tier[link->b.node] == top;
    if (within)
      global.push_back(link);
    else
      group[root(link->a.node)] = root(link->b.node);
  }
  std::set<size_t> groups;
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (shape.tier[i] >= 0) groups.insert(root(i));
  }
  std::set<std::pair<size_t, size_t>> joined;
  for (const NetLink* link : global) {
    const size_t a = root(link->a.node), b = root(link->b.node);
    if (a != b) joined.insert(std::minmax(a, b));
  }
  return groups.size() < 3 || shape.tiers < 2
             ? 0
             : share_of(joined.size(), groups.size() * (groups.size() - 1) / 2);
}

}  // namespace

NetTopology topology_of(const Net& net, const NetShape& shape) {
  const SwitchLinks links = switch_links(net, shape);
  if (links.all.empty()) return {NetClass::lone_switches, 1};
  const double tree = share_of(links.neighbouring, links.all.size());
  if (tree >= kRailShare) {
    const double rails = rail_share(net);
    if (rails >= kRailShare) return {NetClass::rail_optimised, std::min(tree, rails)};
    return {NetClass::fat_tree, tree};
  }
  const double groups = dragonfly_share(net, shape, links);
  if (groups >= kRailShare) return {NetClass::dragonfly, groups};
  return {NetClass::irregular, std::max(tree, groups)};
}

}  // namespace cb
