#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include "model/fabric/findings.h"

namespace cb {
namespace {

bool is_switch(const Net& net, size_t node) {
  return net.nodes[node].kind == NetNodeKind::network_switch;
}

bool is_host_adapter(const Net& net, size_t node) {
  return net.nodes[node].kind == NetNodeKind::adapter && !net.nodes[node].aggregates();
}

std::vector<std::vector<size_t>> neighbours(const Net& net) {
  std::vector<std::vector<size_t>> out(net.nodes.size());
  for (const NetLink& link : net.links) {
    out[link.a.node].push_back(link.b.node);
    out[link.b.node].push_back(link.a.node);
  }
  return out;
}

// Distance from the nearest leaf, by switches alone.
std::vector<int> tiers_of(const Net& net, const std::vector<std::vector<size_t>>& next) {
  std::vector<int> tier(net.nodes.size(), -1);
  std::deque<size_t> queue;
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    const auto of_host = [&](size_t n) { return is_host_adapter(net, n); };
    if (!is_switch(net, i) || std::ranges::none_of(next[i], of_host)) continue;
    tier[i] = 0;
    queue.push_back(i);
  }
  for (; !queue.empty(); queue.pop_front()) {
    for (const size_t n : next[queue.front()]) {
      if (!is_switch(net, n) || tier[n] >= 0) continue;
      tier[n] = tier[queue.front()] + 1;
      queue.push_back(n);
    }
  }
  return tier;
}

// The number of each node's part, from 0.
std::vector<size_t> components_of(const std::vector<std::vector<size_t>>& next) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> part(next.size(), kNone);
  size_t count = 0;
  for (size_t i = 0; i < next.size(); ++i) {
    if (part[i] != kNone) continue;
    std::deque<size_t> queue{i};
    for (part[i] = count; !queue.empty(); queue.pop_front()) {
      for (const size_t n : next[queue.front()]) {
        if (part[n] != kNone) continue;
        part[n] = count;
        queue.push_back(n);
      }
    }
    ++count;
  }
  return part;
}

std::vector<LeafRatio> oversubscription_of(const Net& net, const std::vector<int>& tier) {
  std::vector<double> down(net.nodes.size(), 0), up(net.nodes.size(), 0);
  std::vector<bool> known(net.nodes.size(), true);
  const auto add = [&](const NetEnd& from, const NetEnd& to, const NetLink& link) {
    const int own = tier[from.node], other = tier[to.node];
    if (own < 0) return;
    const bool counts_down = is_host_adapter(net, to.node) || (other >= 0 && other < own);
    const bool counts_up = other > own;
    if (!counts_down && !counts_up) return;
    if (!link.rate) known[from.node] = false;
    if (link.rate) (counts_down ? down : up)[from.node] += link.rate->bits_per_second();
  };
  for (const NetLink& link : net.links) {
    add(link.a, link.b, link);
    add(link.b, link.a, link);
  }
  std::vector<LeafRatio> out;
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (tier[i] >= 0 && known[i] && up[i] > 0) out.push_back({i, down[i] / up[i]});
  }
  return out;
}

}  // namespace

NetShape shape_of(const Net& net) {
  const auto next = neighbours(net);
  NetShape out{.tier = tiers_of(net, next), .component = components_of(next)};
  for (const size_t part : out.component) out.components = std::max(out.components, part + 1);
  std::set<std::string> hosts;
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (is_switch(net, i)) ++out.switches;
    if (net.nodes[i].kind == NetNodeKind::router) ++out.routers;
    if (!is_host_adapter(net, i)) continue;
    ++out.adapters;
    hosts.insert(net.nodes[i].host());
  }
  out.hosts = hosts.size();
  if (!out.tier.empty()) out.tiers = static_cast<size_t>(*std::ranges::max_element(out.tier) + 1);
  out.oversubscription = oversubscription_of(net, out.tier);
  return out;
}

}  // namespace cb
