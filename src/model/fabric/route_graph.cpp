#include "model/fabric/route_graph.h"

#include <algorithm>

namespace cb {
namespace {

void add_target(RouteGraph& graph, const NetEnd& adapter, const NetEnd& leaf, const NetLink& link) {
  const Net& net = *graph.net;
  const NetNode& node = net.nodes[adapter.node];
  const auto lid = net.lids.find(adapter);
  if (node.kind != NetNodeKind::adapter || node.aggregates() || lid == net.lids.end() ||
      net.nodes[leaf.node].kind != NetNodeKind::network_switch)
    return;
  graph.targets.push_back(
      {adapter, lid->second, leaf.node, leaf.port, link.rate ? link.rate->bits_per_second() : 0});
}

}  // namespace

RouteGraph route_graph(const Net& net) {
  RouteGraph out{.net = &net};
  std::vector<int>& ports = out.ports;
  ports.assign(net.nodes.size(), 0);
  for (size_t i = 0; i < net.nodes.size(); ++i) ports[i] = net.nodes[i].ports;
  for (const NetLink& link : net.links) {
    for (const NetEnd& end : {link.a, link.b})
      ports[end.node] = std::max(ports[end.node], end.port);
  }
  size_t channels = 0;
  for (const int n : ports) {
    out.first.push_back(channels);
    channels += static_cast<size_t>(n) + 1;
  }
  out.peer.assign(channels, NetEnd{0, -1});
  out.rate.assign(channels, 0);
  for (const NetLink& link : net.links) {
    const double rate = link.rate ? link.rate->bits_per_second() : 0;
    out.peer[out.channel(link.a.node, link.a.port)] = link.b;
    out.peer[out.channel(link.b.node, link.b.port)] = link.a;
    out.rate[out.channel(link.a.node, link.a.port)] = rate;
    out.rate[out.channel(link.b.node, link.b.port)] = rate;
    add_target(out, link.a, link.b, link);
    add_target(out, link.b, link.a, link);
  }
  std::ranges::sort(out.targets, {}, &RouteGraph::Target::lid);
  out.leaf_size.assign(net.nodes.size(), 0);
  for (const RouteGraph::Target& target : out.targets) ++out.leaf_size[target.leaf];
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (out.leaf_size[i] > 0 && out.has_table(i)) out.leaves.push_back(i);
  }
  return out;
}

std::vector<NetEnd> ChannelDependencies::ring() const {
  // Depth first over the channels by which packets come in, each known by the port that they enter.
  enum class Mark : uint8_t { fresh, open, done };
  std::vector<Mark> marks(graph_.channels(), Mark::fresh);
  struct Step {
    NetEnd in;
    int next = 0;
  };
  for (size_t node = 0; node < graph_.first.size(); ++node) {
    const size_t end = node + 1 < graph_.first.size() ? graph_.first[node + 1] : graph_.channels();
    for (size_t c = graph_.first[node]; c < end; ++c) {
      if (marks[c] != Mark::fresh) continue;
      std::vector<Step> path{{{node, static_cast<int>(c - graph_.first[node])}}};
      marks[c] = Mark::open;
      while (!path.empty()) {
        Step& top = path.back();
        const size_t at = graph_.channel(top.in.node, top.in.port);
        if (top.next >= 256) {
          marks[at] = Mark::done;
          path.pop_back();
          continue;
        }
        const auto out = static_cast<size_t>(top.next++);
        if ((bits_[at * kWords + out / 64] >> (out % 64) & 1) == 0) continue;
        const NetEnd to = graph_.peer_of(top.in.node, static_cast<int>(out));
        if (to.port < 0) continue;
        Mark& mark = marks[graph_.channel(to.node, to.port)];
        if (mark == Mark::open) {
          std::vector<NetEnd> ring;
          const auto begin = std::ranges::find(path, to, &Step::in);
          for (auto s = begin; s != path.end(); ++s) ring.push_back(s->in);
          return ring;
        }
        if (mark == Mark::fresh) {
          mark = Mark::open;
          path.push_back({to, 0});
        }
      }
    }
  }
  return {};
}

}  // namespace cb
