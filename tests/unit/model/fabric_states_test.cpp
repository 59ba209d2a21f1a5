// What ports, managers and counters say: each planted defect is its kind and the only one, and both
// sides of each threshold.
#include <functional>
#include <set>

#include <doctest/doctest.h>

#include "fabric_nets.h"
#include "model/fabric/findings.h"

using namespace cb;

namespace {

using Names = std::multiset<std::string>;

// Two leaves of six adapters, two spines; everything answered and is in order.
Net healthy() {
  Net net = read_ibnetdiscover(WiredNet::rails(6, 2, 2).text(), "net.txt");
  const int master = net.lids.begin()->second;
  for (const NetLink& link : net.links) {
    for (const NetEnd& end : {link.a, link.b}) {
      NetPort& port = net.ports[end];
      port.state = 4;
      port.physical = 5;
      port.width_supported = port.width_enabled = 1 | 2;
      port.speed_supported = port.speed_enabled = 0xf7;
      port.mtu_bytes = port.mtu_cap_bytes = 4096;
      port.manager_lid = master;
      port.counts = {{"SymbolErrorCounter", 0}, {"PortRcvData", 1'000'000'000}};
      if (net.nodes[end.node].kind != NetNodeKind::adapter) continue;
      port.has_pkeys = true;
      port.pkeys = {0xffff, 0x8001};
    }
  }
  for (NetNode& node : net.nodes) {
    node.vendor = 0x2c9;
    node.device = node.kind == NetNodeKind::adapter ? 0x1021 : 0xd2f2;
    node.firmware = "1.2.3";
  }
  net.managers = {{net.lids.begin()->first, master, 3, 14, 5, {}},
                  {std::next(net.lids.begin())->first, 0, 2, 1, 5, {}}};
  net.knows = {.ports = true,
               .mtus = true,
               .managers = true,
               .pkeys = true,
               .counters = true,
               .firmware = true};
  derive_possible_rates(net);
  return net;
}

Names found(const std::function<void(Net&)>& plant) {
  Net net = healthy();
  plant(net);
  const NetShape shape = shape_of(net);
  Names out;
  for (const auto& findings :
       {irregularities(net, shape), state_findings(net, shape), counter_findings(net)}) {
    for (const NetFinding& f : findings) out.insert(f.kind + ": " + f.part);
  }
  return out;
}

NetEnd end_of(const Net& net, const std::string& name, int port) {
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (net.nodes[i].name == name) return {i, port};
  }
  throw name;
}

}  // namespace

TEST_CASE("a subnet in which all is in order has no finding") {
  const Names names = found([](Net&) {});
  CHECK_MESSAGE(names.empty(), *names.begin());
}

TEST_CASE("a link below what both ends can do, narrow or slow") {
  const auto at = [](Net& net, const char* rate) {
    for (NetLink& link : net.links) {
      if (net.link_name(link) == "leaf-0 port 3 – host02 mlx5_0 port 1")
        link.rate = parse_link_rate(rate);
    }
  };
  const Names one{"link_rate: leaf-0 port 3 – host02 mlx5_0 port 1"};
  CHECK(found([&](Net& net) { at(net, "1xNDR"); }) == one);
  CHECK(found([&](Net& net) { at(net, "4xHDR"); }) == one);
  // One end can do no more: nothing is wrong with the link.
  CHECK(found([&](Net& net) {
          at(net, "4xHDR");
          net.ports[end_of(net, "host02 mlx5_0", 1)].speed_supported = 0x77;
          derive_possible_rates(net);
        }).empty());
}

TEST_CASE("a restricted port is told from one that fell back") {
  Net net = healthy();
  NetLink& link = net.links.front();
  link.rate = parse_link_rate("4xHDR");
  const auto text = [&] { return irregularities(net, shape_of(net)).at(0).what.text(); };
  CHECK(text().find("settings allow no more") == std::string::npos);
  net.ports[link.a].speed_enabled = 0x77;
  CHECK(text().find("settings allow no more") != std::string::npos);
}

TEST_CASE("a port that is linked and not active, an odd MTU, odd keys, odd firmware") {
  CHECK(found([](Net& net) { net.ports[end_of(net, "leaf-0", 2)].state = 2; }) ==
        Names{"port_state: leaf-0 port 2"});
  CHECK(found([](Net& net) { net.ports[end_of(net, "host01 mlx5_1", 1)].mtu_bytes = 2048; }) ==
        Names{"mtu: host01 mlx5_1 port 1"});
  CHECK(found([](Net& net) { net.ports[end_of(net, "host01 mlx5_1", 1)].pkeys = {0xffff}; }) ==
        Names{"pkeys: host01 mlx5_1 port 1"});
  // Another order of the same keys is the same.
  CHECK(found([](Net& net) {
          net.ports[end_of(net, "host01 mlx5_1", 1)].pkeys = {0x8001, 0xffff};
        }).empty());
  CHECK(found([](Net& net) {
          net.nodes[end_of(net, "host03 mlx5_0", 1).node].firmware = "1.2.2";
        }) == Names{"firmware: host03 mlx5_0"});
  // Another model may have another firmware.
  CHECK(found([](Net& net) {
          NetNode& node = net.nodes[end_of(net, "host03 mlx5_0", 1).node];
          node.firmware = "1.2.2";
          node.device = 0x1023;
        }).empty());
}

TEST_CASE("subnet managers: none, two masters, a standby, one that stands still") {
  CHECK(found([](Net& net) { net.managers.clear(); }) == Names{"manager: "});
  CHECK(found([](Net& net) { net.managers[0].state = 1; }).contains("manager: "));
  const Names two = found([](Net& net) { net.managers[1].state = 3; });
  REQUIRE(two.size() == 1);
  CHECK(two.begin()->starts_with("second_master: "));
  Net alone = healthy();
  CHECK(standby_managers(alone) == 1);
  alone.managers.resize(1);
  CHECK(standby_managers(alone) == 0);
  const auto still = [](double seconds, uint32_t later) {
    return found([&](Net& net) {
      net.window_seconds = seconds;
      net.managers[0].activity_later = later;
    });
  };
  CHECK(still(10, 5).size() == 1);
  CHECK(still(10, 5).begin()->starts_with("manager_stuck: "));
  CHECK(still(9.9, 5).empty());  // too short to tell
  CHECK(still(10, 6).empty());
  CHECK(found([](Net& net) { net.ports[end_of(net, "host01 mlx5_1", 1)].manager_lid = 999; }) ==
        Names{"manager: host01 mlx5_1 port 1"});
}

TEST_CASE("without a manager no port becomes active, which is one finding") {
  CHECK(found([](Net& net) {
          net.managers.clear();
          for (auto& [end, port] : net.ports) port.state = 2;
        }) == Names{"manager: "});
}

TEST_CASE("two planes each have their own manager, and may have the same LIDs") {
  Net net = read_ibnetdiscover(WiredNet::rails(4, 2, 0).text(), "net.txt");
  net.knows.managers = true;
  const auto names = [&] {
    Names out;
    for (const NetFinding& f : state_findings(net, shape_of(net))) out.insert(f.kind);
    for (const NetFinding& f : irregularities(net, shape_of(net))) out.insert(f.kind);
    return out;
  };
  CHECK(names() == Names{"manager", "manager"});
  const NetEnd a = end_of(net, "host00 mlx5_0", 1), b = end_of(net, "host00 mlx5_1", 1);
  net.managers = {{a, 1, 3, 0, 0, {}}, {b, 1, 3, 0, 0, {}}};
  net.lids[b] = net.lids[a];
  CHECK(names().empty());
}

TEST_CASE("questions without an answer are one finding a port") {
  CHECK(found([](Net& net) {
          const NetEnd at = end_of(net, "leaf-0", 2);
          net.unanswered = {{at, "PortInfo", "no answer"}, {at, "P_KeyTable", "no answer"}};
        }) == Names{"unanswered: leaf-0 port 2"});
}

TEST_CASE("symbol errors count for the bits in which they were") {
  const auto symbols = [](uint64_t errors, uint64_t words) {
    return found([&](Net& net) {
      net.ports[end_of(net, "leaf-0", 2)].counts = {{"SymbolErrorCounter", errors},
                                                    {"PortRcvData", words}};
    });
  };
  // 1e12 bits are 31.25e9 words: one error in them is exactly the limit.
  CHECK(symbols(1, 31'250'000'000).empty());
  CHECK(symbols(1, 31'249'999'999) == Names{"errors: leaf-0 port 2"});
  CHECK(symbols(0, 0).empty());
  CHECK(found([](Net& net) {
          net.ports[end_of(net, "leaf-0", 2)].counts = {{"SymbolErrorCounter", 1}};
        }) == Names{"errors: leaf-0 port 2"});
}

TEST_CASE("other errors: what a neighbour has marked is not the port's own") {
  const auto counted = [](const PortCounts& planted) {
    return found([&](Net& net) { net.ports[end_of(net, "leaf-1", 1)].counts = planted; });
  };
  CHECK(counted({{"PortRcvErrors", 5}, {"PortRcvRemotePhysicalErrors", 5}}).empty());
  CHECK(counted({{"PortRcvErrors", 6}, {"PortRcvRemotePhysicalErrors", 5}}) ==
        Names{"errors: leaf-1 port 1"});
  CHECK(counted({{"ExcessiveBufferOverrunErrors", 1}}) == Names{"errors: leaf-1 port 1"});
  CHECK(counted({{"PortXmitDiscards", 9}, {"PortXmitWait", 9}}).empty());  // congestion
  CHECK(counted({{"LinkDownedCounter", 3}}).empty());  // a host was restarted before
  CHECK(counted({{"SymbolErrorCounter", 65535}, {"PortRcvData", uint64_t{1} << 60U}}) ==
        Names{"saturated: leaf-1 port 1"});
}

TEST_CASE("in a window only what moved counts, and a counter that fell was cleared") {
  const auto moved = [](PortCounts planted, std::vector<std::string> cleared = {}) {
    return found([&](Net& net) {
      net.window_seconds = 5;
      NetPort& port = net.ports[end_of(net, "leaf-1", 1)];
      port.counts["PortRcvErrors"] = 7;
      port.moved = std::move(planted);
      port.cleared = std::move(cleared);
    });
  };
  CHECK(moved({{"PortRcvErrors", 0}}).empty());
  CHECK(moved({{"LinkDownedCounter", 1}}) == Names{"errors: leaf-1 port 1"});
  CHECK(moved({}, {"PortRcvErrors"}) == Names{"cleared: leaf-1 port 1"});
}

TEST_CASE("what a window shows is three over its bits at the slowest link") {
  Net net = healthy();
  CHECK_FALSE(shown_errors_per_bit(net));
  net.window_seconds = 60;
  CHECK(*shown_errors_per_bit(net) == doctest::Approx(3 / (425e9 * 60)));
  net.links.front().rate = parse_link_rate("1xNDR");
  CHECK(*shown_errors_per_bit(net) == doctest::Approx(3 / (106.25e9 * 60)));
}

TEST_CASE("a switch without aggregation node among those that have one") {
  WiredNet wired = WiredNet::rails(1, 5, 1);
  for (int r = 0; r < 4; ++r) {
    const std::string id = fmt::format("H-{:016x}", 0xaa00 + r);
    wired.nodes.push_back({id, "Mellanox Technologies Aggregation Node", 1, 500 + r});
    wired.wires.push_back({{fmt::format("S-{:016x}", 0xf000 + r), 64}, {id, 1}, "4xHDR"});
  }
  const Net net = read_ibnetdiscover(wired.text(), "net.txt");
  const auto findings = state_findings(net, shape_of(net));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == "sharp");
  CHECK(findings[0].part == "leaf-4");
}
