// Routes from every leaf to every adapter: for each destination the tables form a tree towards it,
// so every switch is looked at once per destination.
#include "model/fabric/routes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/fabric/route_graph.h"

namespace cb {
namespace {

enum class Fate : uint8_t { unknown, open, arrives, lost, untold };

struct Tally {
  size_t count = 0;
  std::string example;
};

class RouteFollower {
 public:
  RouteFollower(const Net& net, const NetShape& shape)
      : net_(net),
        shape_(shape),
        graph_(route_graph(net)),
        dependencies_(graph_),
        fate_(net.nodes.size(), Fate::unknown),
        depth_(net.nodes.size(), 0),
        flows_(net.nodes.size(), 0),
        load_(graph_.channels(), 0),
        destinations_(graph_.channels(), 0) {}

  RouteReport run() {
    for (const RouteGraph::Target& target : graph_.targets) follow(target);
    tell_lost();
    tell_ring();
    balance();
    shifts();
    return std::move(out_);
  }

 private:
  void follow(const RouteGraph::Target& target) {
    for (const size_t node : visited_) fate_[node] = Fate::unknown;
    visited_.clear();
    for (const size_t leaf : graph_.leaves) {
      const Fate fate = walk(leaf, target);
      if (fate == Fate::untold) continue;
      ++out_.figures.pairs;
      out_.figures.unreached += fate == Fate::lost ? 1 : 0;
    }
    spread(target);
  }

  // Follows one leaf's packets until a switch whose fate is known.
  Fate walk(size_t from, const RouteGraph::Target& target) {
    std::vector<size_t>& path = path_;
    path.clear();
    Fate fate = Fate::unknown;
    size_t depth = 0;
    for (size_t at = from; fate == Fate::unknown;) {
      if (fate_[at] == Fate::open) {
        note_loop(path, at, target);
        fate = Fate::lost;
        break;
      }
      if (fate_[at] != Fate::unknown) {
        fate = fate_[at];
        depth = depth_[at];
        break;
      }
      path.push_back(at);
      visited_.push_back(at);
      fate_[at] = Fate::open;
      if (!graph_.has_table(at)) {
        fate = Fate::untold;
        break;
      }
      const int port = graph_.port_for(at, target.lid);
      const NetEnd next = port > 0 ? graph_.peer_of(at, port) : NetEnd{0, -1};
      if (next == target.end) {
        fate = Fate::arrives;
      } else if (port <= 0 || next.port < 0 ||
                 net_.nodes[next.node].kind != NetNodeKind::network_switch) {
        note_hole(at, port, target);
        fate = Fate::lost;
      } else {
        at = next.node;
      }
    }
    for (auto node = path.rbegin(); node != path.rend(); ++node) {
      fate_[*node] = fate;
      depth_[*node] = ++depth;
    }
    if (fate == Fate::arrives && !path.empty())
      out_.figures.longest_hops = std::max(out_.figures.longest_hops, depth);
    return fate;
  }

  std::string target_name(const RouteGraph::Target& target) const {
    return fmt::format("{} (LID {})", net_.nodes[target.end.node].name, target.lid);
  }

  void note_hole(size_t at, int port, const RouteGraph::Target& target) {
    Tally& tally = holes_[{at, port <= 0 ? 255 : port}];
    if (++tally.count == 1) tally.example = target_name(target);
  }

  // The loop is named by its switches, from the first of their names on.
  void note_loop(const std::vector<size_t>& path, size_t at, const RouteGraph::Target& target) {
    std::vector<size_t> ring(std::ranges::find(path, at), path.end());
    const auto name = [&](size_t node) { return net_.nodes[node].name; };
    std::rotate(ring.begin(), std::ranges::min_element(ring, {}, name), ring.end());
    std::string names;
    for (const size_t node : ring) names += name(node) + " → ";
    Tally& tally = loops_[names + name(ring.front())];
    if (++tally.count == 1) tally.example = target_name(target);
  }

  // All-to-all: the flows of every leaf's adapters, from the farthest switch inwards.
  void spread(const RouteGraph::Target& target) {
    for (std::vector<size_t>& level : visited_order_) level.clear();
    for (const size_t node : visited_) {
      if (fate_[node] != Fate::arrives) continue;
      flows_[node] = static_cast<double>(graph_.leaf_size[node]);
      if (visited_order_.size() <= depth_[node]) visited_order_.resize(depth_[node] + 1);
      visited_order_[depth_[node]].push_back(node);
    }
    for (auto level = visited_order_.rbegin(); level != visited_order_.rend(); ++level) {
      for (const size_t node : *level) {
        const int port = graph_.port_for(node, target.lid);
        const size_t channel = graph_.channel(node, port);
        load_[channel] += flows_[node];
        ++destinations_[channel];
        const NetEnd next = graph_.peer[channel];
        if (next == target.end) continue;
        flows_[next.node] += flows_[node];
        dependencies_.add(next.node, next.port, graph_.port_for(next.node, target.lid));
      }
    }
  }

  void tell_lost() {
    for (const auto& [at, tally] : holes_) {
      const auto& [node, port] = at;
      const Said what = port == 255 ? said("fabric.route_hole", tally.count, tally.example)
                                    : said("fabric.route_dead", tally.count, tally.example, port);
      out_.findings.push_back({"route_hole", net_.nodes[node].name, what});
    }
    for (const auto& [names, tally] : loops_)
      out_.findings.push_back(
          {"route_loop", names, said("fabric.route_loop", tally.count, tally.example)});
  }

  void tell_ring() {
    const std::vector<NetEnd> ring = dependencies_.ring();
    std::string names;
    for (const NetEnd& in : ring) names += net_.nodes[in.node].name + " → ";
    if (!ring.empty())
      out_.findings.push_back({"credit_loop", names + net_.nodes[ring.front().node].name,
                               said("fabric.credit_loop", ring.size())});
  }

  // The channels of a switch that lead to a higher tier.
  std::vector<size_t> upwards(size_t node) const {
    std::vector<size_t> out;
    for (int port = 1; port <= net_.nodes[node].ports; ++port) {
      const NetEnd to = graph_.peer_of(node, port);
      if (to.port >= 0 && shape_.tier[node] >= 0 && shape_.tier[to.node] > shape_.tier[node])
        out.push_back(graph_.channel(node, port));
    }
    return out;
  }

  void balance() {
    for (size_t node = 0; node < net_.nodes.size(); ++node) {
      if (net_.nodes[node].kind != NetNodeKind::network_switch || !graph_.has_table(node)) continue;
      const std::vector<size_t> up = upwards(node);
      double sum = 0, most = 0;
      size_t all = 0, busiest = up.empty() ? 0 : up.front();
      for (const size_t c : up) {
        sum += load_[c];
        most = std::max(most, load_[c]);
        all += destinations_[c];
        if (destinations_[c] > destinations_[busiest]) busiest = c;
      }
      if (up.size() < 2 || sum <= 0) continue;
      const double links = static_cast<double>(up.size());
      out_.figures.uplink_load =
          std::max(out_.figures.uplink_load.value_or(0), most / (sum / links));
      const double mean = std::ceil(static_cast<double>(all) / links);
      const auto busy = static_cast<double>(destinations_[busiest]);
      if (busy > kBalance * mean && busy >= mean + kEnoughLinks)
        out_.findings.push_back(
            {"route_balance", net_.end_name({node, static_cast<int>(busiest - graph_.first[node])}),
             said("fabric.route_balance", destinations_[busiest], all, up.size())});
    }
  }

  // Calls `visit` with each channel between switches on the route; false if it does not arrive.
  template <typename Visit>
  bool route(const RouteGraph::Target& from, const RouteGraph::Target& to, Visit visit) const {
    size_t at = from.leaf;
    for (size_t hops = 0; hops <= out_.figures.longest_hops; ++hops) {
      const int port = graph_.has_table(at) ? graph_.port_for(at, to.lid) : -1;
      if (port <= 0) return false;
      const NetEnd next = graph_.peer_of(at, port);
      if (next == to.end) return true;
      if (next.port < 0 || net_.nodes[next.node].kind != NetNodeKind::network_switch) return false;
      visit(graph_.channel(at, port));
      at = next.node;
    }
    return false;
  }

  void shifts() {
    const size_t n = graph_.targets.size();
    if (n < 2 || out_.figures.unreached > 0 || out_.figures.pairs == 0) return;
    const size_t count = std::min(kShifts, n - 1);
    double share = 0, most = 0;
    size_t flows = 0;
    std::vector<uint32_t> on(graph_.channels());
    for (size_t k = 0; k < count; ++k) {
      const size_t shift = 1 + k * (n - 1) / count;
      std::ranges::fill(on, 0);
      for (size_t i = 0; i < n; ++i)
        route(graph_.targets[i], graph_.targets[(i + shift) % n], [&](size_t c) { ++on[c]; });
      most += *std::ranges::max_element(on);
      for (size_t i = 0; i < n; ++i) {
        const RouteGraph::Target& from = graph_.targets[i];
        double own = 1;
        const bool arrives = route(from, graph_.targets[(i + shift) % n], [&](size_t c) {
          const double wide = from.rate > 0 && graph_.rate[c] > 0 ? graph_.rate[c] / from.rate : 1;
          own = std::min(own, wide / on[c]);
        });
        if (!arrives) continue;
        share += own;
        ++flows;
      }
    }
    if (flows == 0) return;
    out_.figures.shift_share = share / static_cast<double>(flows);
    out_.figures.shift_flows = most / static_cast<double>(count);
  }

  const Net& net_;
  const NetShape& shape_;
  RouteGraph graph_;
  ChannelDependencies dependencies_;
  std::vector<Fate> fate_;
  std::vector<size_t> depth_;  // switches to the destination, of those that arrive
  std::vector<double> flows_;
  std::vector<double> load_;            // of each channel, all to all
  std::vector<size_t> destinations_;    // of each channel
  std::vector<size_t> path_, visited_;  // of the destination that is followed
  std::vector<std::vector<size_t>> visited_order_;
  std::map<std::pair<size_t, int>, Tally> holes_;
  std::map<std::string, Tally> loops_;
  RouteReport out_;
};

}  // namespace

RouteReport follow_routes(const Net& net, const NetShape& shape) {
  if (!net.knows.tables) return {};
  return RouteFollower(net, shape).run();
}

}  // namespace cb
