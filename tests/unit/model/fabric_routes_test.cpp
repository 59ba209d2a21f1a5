// Routes: healthy tables of random fat trees give no finding; each planted defect is its kind.
#include <deque>
#include <functional>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "fabric_nets.h"
#include "model/fabric/routes.h"

using namespace cb;

namespace {

// Tables of the fewest hops; of several ports that with the fewest destinations so far.
void route(Net& net) {
  std::vector<std::vector<std::pair<int, NetEnd>>> ports(net.nodes.size());
  for (const NetLink& link : net.links) {
    ports[link.a.node].emplace_back(link.a.port, link.b);
    ports[link.b.node].emplace_back(link.b.port, link.a);
  }
  int top = 0;
  for (const auto& [end, lid] : net.lids) top = std::max(top, lid);
  for (NetNode& node : net.nodes) {
    if (node.kind == NetNodeKind::network_switch)
      node.forwards.assign(static_cast<size_t>(top) + 1, 255);
  }
  std::map<NetEnd, size_t> used;
  for (const auto& [end, lid] : net.lids) {
    std::vector<int> hops(net.nodes.size(), -1);
    std::deque<size_t> queue{end.node};
    for (hops[end.node] = 0; !queue.empty(); queue.pop_front()) {
      const size_t at = queue.front();
      if (net.nodes[at].kind != NetNodeKind::network_switch && at != end.node) continue;
      for (const auto& [port, to] : ports[at]) {
        if (hops[to.node] >= 0) continue;
        hops[to.node] = hops[at] + 1;
        queue.push_back(to.node);
      }
    }
    for (size_t at = 0; at < net.nodes.size(); ++at) {
      if (net.nodes[at].kind != NetNodeKind::network_switch || hops[at] < 0) continue;
      int best = at == end.node ? 0 : -1;
      for (const auto& [port, to] : ports[at]) {
        if (hops[to.node] != hops[at] - 1) continue;
        if (best < 0 || used[{at, port}] < used[{at, best}]) best = port;
      }
      if (best < 0) continue;
      ++used[{at, best}];
      net.nodes[at].forwards[static_cast<size_t>(lid)] = static_cast<uint8_t>(best);
    }
  }
  net.knows.tables = true;
}

Net routed(WiredNet wired) {
  Net net = read_ibnetdiscover(wired.text(), "net.txt");
  route(net);
  return net;
}

size_t node_of(const Net& net, const std::string& name) {
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (net.nodes[i].name == name) return i;
  }
  return net.nodes.size();
}

size_t lid_of(const Net& net, const std::string& name) {
  const size_t node = node_of(net, name);
  for (const auto& [end, lid] : net.lids) {
    if (end.node == node) return static_cast<size_t>(lid);
  }
  return 0;
}

uint8_t& entry(Net& net, const std::string& name, const std::string& to) {
  return net.nodes[node_of(net, name)].forwards[lid_of(net, to)];
}

std::multiset<std::string> found(const Net& net) {
  std::multiset<std::string> out;
  for (const NetFinding& f : follow_routes(net, shape_of(net)).findings)
    out.insert(f.kind + ": " + f.part);
  return out;
}
using Names = std::multiset<std::string>;

// Four switches in a ring of links, one adapter on each.
Net ring() {
  WiredNet wired;
  for (int i = 0; i < 4; ++i) {
    wired.nodes.push_back({fmt::format("S-{:016x}", 0xa0 + i), fmt::format("s{}", i), 8, i + 1});
    wired.nodes.push_back(
        {fmt::format("H-{:016x}", 0xb0 + i), fmt::format("h{} mlx5_0", i), 1, i + 11});
  }
  for (int i = 0; i < 4; ++i) {
    const std::string at = fmt::format("S-{:016x}", 0xa0 + i);
    wired.wires.push_back({{at, 1}, {fmt::format("H-{:016x}", 0xb0 + i), 1}});
    wired.wires.push_back({{at, 2}, {fmt::format("S-{:016x}", 0xa0 + (i + 1) % 4), 3}});
  }
  return routed(wired);
}

}  // namespace

TEST_CASE("without tables nothing is said of routes") {
  const Net net = read_ibnetdiscover(WiredNet::rails(4, 2, 2).text(), "net.txt");
  const RouteReport report = follow_routes(net, shape_of(net));
  CHECK(report.findings.empty());
  CHECK(report.figures.pairs == 0);
  CHECK_FALSE(report.figures.shift_share);
}

TEST_CASE("tables of the fewest hops reach every adapter, and the load is even") {
  const Net net = routed(WiredNet::rails(12, 8, 4));
  const RouteReport report = follow_routes(net, shape_of(net));
  CHECK(report.findings.empty());
  CHECK(report.figures.pairs == 8 * 96);  // leaves and adapters
  CHECK(report.figures.unreached == 0);
  CHECK(report.figures.longest_hops == 3);  // leaf, spine, leaf
  CHECK(*report.figures.uplink_load == 1);  // 84 destinations over 4 links
}

TEST_CASE("200 healthy fat trees of random size have no finding") {
  std::mt19937 random(20261125);
  const auto from = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 200; ++i) {
    const Net net = routed(WiredNet::rails(from(1, 16), from(1, 8), from(1, 6)));
    const Names names = found(net);
    CHECK_MESSAGE(names.empty(), *names.begin());
  }
}

TEST_CASE("shifts on one leaf have the full rate, and over one link between two leaves the n-th") {
  const Net leaf = routed(WiredNet::rails(6, 1, 0));
  CHECK(*follow_routes(leaf, shape_of(leaf)).figures.shift_share == 1);
  // Two leaves of one adapter each and one spine: every flow is alone on its links.
  const Net alone = routed(WiredNet::rails(1, 2, 1));
  CHECK(*follow_routes(alone, shape_of(alone)).figures.shift_share == 1);
  // Two leaves of two adapters and one link upwards each, LIDs a0 a1 b0 b1. Shifts 1 and 3 send one
  // flow each way over the top, shift 2 two: shares 1, 1/2, 1.
  const Net shared = routed(WiredNet::rails(2, 2, 1));
  CHECK(*follow_routes(shared, shape_of(shared)).figures.shift_share ==
        doctest::Approx((1 + 0.5 + 1) / 3));
}

TEST_CASE("a hole, an entry for a port without a link, and one for another adapter") {
  Net net = routed(WiredNet::rails(4, 2, 2));
  entry(net, "leaf-0", "host02 mlx5_1") = 255;
  CHECK(found(net) == Names{"route_hole: leaf-0"});
  CHECK(follow_routes(net, shape_of(net)).figures.unreached == 1);
  net = routed(WiredNet::rails(4, 2, 2));
  entry(net, "leaf-0", "host02 mlx5_1") = 60;
  CHECK(found(net) == Names{"route_hole: leaf-0"});
  net = routed(WiredNet::rails(4, 2, 2));
  entry(net, "leaf-1", "host02 mlx5_1") = 1;  // host00's
  CHECK(found(net) == Names{"route_hole: leaf-1"});
  net.nodes[node_of(net, "leaf-1")].forwards.resize(2);
  CHECK(found(net).contains("route_hole: leaf-1"));
}

TEST_CASE("two switches that send a LID to each other are a loop") {
  Net net = routed(WiredNet::rails(4, 2, 2));
  const std::string to = "host02 mlx5_1";
  const uint8_t up = entry(net, "leaf-0", to);
  const std::string spine = up == 5 ? "spine-0" : "spine-1";
  entry(net, spine, to) = 1;  // back to leaf-0
  CHECK(found(net) == Names{"route_loop: leaf-0 → " + spine + " → leaf-0"});
}

TEST_CASE("a switch whose table was not read is left out") {
  Net net = routed(WiredNet::rails(4, 2, 2));
  net.nodes[node_of(net, "leaf-0")].forwards.clear();
  CHECK(found(net).empty());
  CHECK(follow_routes(net, shape_of(net)).figures.pairs == 4);  // leaf-1 and its own
}

TEST_CASE("all destinations on one of the links upwards are out of balance, one more is not") {
  Net net = routed(WiredNet::rails(12, 2, 2));
  for (int h = 0; h < 12; ++h) entry(net, "leaf-0", fmt::format("host{:02} mlx5_1", h)) = 13;
  CHECK(found(net) == Names{"route_balance: leaf-0 port 13"});
  net = routed(WiredNet::rails(12, 2, 2));
  // Nine of twelve are 1.5 times the mean of six: the limit; ten are above it.
  for (int h = 0; h < 12; ++h)
    entry(net, "leaf-0", fmt::format("host{:02} mlx5_1", h)) = h < 9 ? 13 : 14;
  CHECK(found(net).empty());
  entry(net, "leaf-0", "host09 mlx5_1") = 13;
  CHECK(found(net) == Names{"route_balance: leaf-0 port 13"});
}

TEST_CASE("routes round a ring wait for one another, a tree's do not") {
  Net net = ring();
  for (int i = 0; i < 4; ++i) {
    for (int to = 0; to < 4; ++to) {
      if (i != to) entry(net, fmt::format("s{}", i), fmt::format("h{} mlx5_0", to)) = 2;
    }
  }
  const Names names = found(net);
  REQUIRE(names.size() == 1);
  CHECK(names.begin()->starts_with("credit_loop: "));
  // Cut between s3 and s0: up to s0 and down again is a line, in which nothing waits in a ring.
  for (int i = 0; i < 4; ++i) {
    for (int to = 0; to < 4; ++to) {
      if (i != to)
        entry(net, fmt::format("s{}", i), fmt::format("h{} mlx5_0", to)) = to > i ? 2 : 3;
    }
  }
  CHECK(found(net).empty());
}
