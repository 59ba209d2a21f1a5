// Subnets: reading, shape, and every kind of defect found and named as what it is.
#include <functional>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "core/error.h"
#include "fabric_nets.h"
#include "model/fabric/findings.h"

using namespace cb;

namespace {

constexpr int kHosts = 12, kRails = 8, kSpines = 4;

std::vector<NetFinding> findings_of(const std::string& text, const std::string& plan = "") {
  const Net net = read_ibnetdiscover(text, "net.txt");
  std::vector<NetFinding> out = irregularities(net, shape_of(net));
  if (plan.empty()) return out;
  PlanDifference difference = against_plan(net, read_cabling(plan, "plan.csv"));
  for (NetFinding& f : difference.findings) out.push_back(std::move(f));
  for (const std::string& link : difference.at_other_ports) out.push_back({"other port", link, {}});
  return out;
}

// "kind: part" of each.
std::multiset<std::string> named(const std::vector<NetFinding>& findings) {
  std::multiset<std::string> out;
  for (const NetFinding& f : findings) out.insert(f.kind + ": " + f.part);
  return out;
}

using Plant = std::function<void(WiredNet&)>;

// What is found in a net with this defect, with the plan of the healthy one.
std::multiset<std::string> found_with_plan(const Plant& plant) {
  WiredNet net = WiredNet::rails(kHosts, kRails, kSpines);
  const std::string plan = net.plan();
  plant(net);
  return named(findings_of(net.text(), plan));
}

std::multiset<std::string> found_without_plan(const Plant& plant) {
  WiredNet net = WiredNet::rails(kHosts, kRails, kSpines);
  plant(net);
  return named(findings_of(net.text()));
}

void swap_far_ends(WiredNet& net, const char* a, int a_port, const char* b, int b_port) {
  std::swap(net.at(a, a_port).b, net.at(b, b_port).b);
}

using Names = std::multiset<std::string>;

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the rate of a link is its lanes times the rate of a lane") {
  CHECK(parse_link_rate("4xNDR")->bits_per_second() == 425e9);
  CHECK(parse_link_rate("2xHDR")->bits_per_second() == 106.25e9);
  CHECK(parse_link_rate("4xEDR")->bits_per_second() == 103.125e9);
  CHECK(parse_link_rate("1xFDR10")->bits_per_second() == 10.3125e9);
  CHECK_FALSE(parse_link_rate("4xABC"));
  CHECK_FALSE(parse_link_rate("0xNDR"));
  CHECK_FALSE(parse_link_rate("mlx5_0"));
}

TEST_CASE("a rail-optimised subnet is read whole and has the shape it was built with") {
  WiredNet wired = WiredNet::rails(kHosts, kRails, kSpines);
  const Net net = read_ibnetdiscover(wired.text(), "net.txt");
  CHECK(net.links.size() == wired.wires.size());
  CHECK(net.one_sided.empty());
  const NetShape shape = shape_of(net);
  CHECK(shape.adapters == kHosts * kRails);
  CHECK(shape.hosts == kHosts);
  CHECK(shape.switches == kRails + kSpines);
  CHECK(shape.tiers == 2);
  CHECK(shape.components == 1);
  REQUIRE(shape.oversubscription.size() == kRails);
  CHECK(shape.oversubscription[0].ratio == 3);  // 12 down, 4 up, at one rate
  CHECK(net.lids.size() == net.nodes.size());
}

TEST_CASE("rails without a link between them are parts of their own, without oversubscription") {
  WiredNet wired = WiredNet::rails(4, 2, 0);
  const NetShape shape = shape_of(read_ibnetdiscover(wired.text(), "net.txt"));
  CHECK(shape.components == 2);
  CHECK(shape.tiers == 1);
  CHECK(shape.oversubscription.empty());
}

TEST_CASE("200 healthy subnets of random size have no finding, with their plan and without") {
  std::mt19937 random(20261124);
  const auto from = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 200; ++i) {
    WiredNet net = WiredNet::rails(from(1, 24), from(1, 8), from(0, 6));
    const Names found = named(findings_of(net.text(), net.plan()));
    CHECK_MESSAGE(found.empty(), *found.begin());
  }
}

TEST_CASE("two exchanged cables are one finding, and on a rail of their own also without a plan") {
  const Plant plant = [](WiredNet& net) { swap_far_ends(net, "leaf-2", 3, "leaf-5", 3); };
  CHECK(found_with_plan(plant) ==
        Names{"swapped: host02 mlx5_2 port 1 – leaf-2 port 3; host02 mlx5_5 port 1 – leaf-5 port 3",
              "wrong_rail: leaf-2 port 3", "wrong_rail: leaf-5 port 3"});
  CHECK(found_without_plan(plant) ==
        Names{"wrong_rail: leaf-2 port 3", "wrong_rail: leaf-5 port 3"});
}

TEST_CASE("exchanged within a leaf they carry the same, and only the plan tells") {
  const Plant plant = [](WiredNet& net) { swap_far_ends(net, "leaf-0", 1, "leaf-0", 2); };
  CHECK(found_with_plan(plant) == Names{"other port: host00 mlx5_0 port 1 – leaf-0 port 1",
                                        "other port: host01 mlx5_0 port 1 – leaf-0 port 2"});
  CHECK(found_without_plan(plant).empty());
}

TEST_CASE("three cables in turn are a rotation, one on another leaf is moved") {
  CHECK(found_with_plan([](WiredNet& net) {
          swap_far_ends(net, "leaf-0", 13, "leaf-1", 14);
          swap_far_ends(net, "leaf-1", 14, "leaf-2", 15);
        }) == Names{"rotated: leaf-0 port 13 – spine-0 port 1; leaf-1 port 14 – spine-1 port 2; "
                    "leaf-2 port 15 – spine-2 port 3"});
  CHECK(found_with_plan([](WiredNet& net) { net.at("leaf-0", 1).a.port = 60; }) ==
        Names{"other port: host00 mlx5_0 port 1 – leaf-0 port 1"});
  CHECK(found_with_plan([](WiredNet& net) {
          net.at("leaf-0", 1).a = {net.at("leaf-1", 1).a.id, 60};
        }) == Names{"moved: host00 mlx5_0 port 1 – leaf-0 port 1", "wrong_rail: leaf-1 port 60"});
}

TEST_CASE("missing, surplus and unknown parts of the plan") {
  const auto remove = [](WiredNet& net, const char* name, int port) {
    const WiredEnd end = net.at(name, port).b;
    std::erase_if(net.wires,
                  [&](const Wire& w) { return w.b.id == end.id && w.b.port == end.port; });
  };
  CHECK(found_with_plan([&](WiredNet& net) { remove(net, "leaf-3", 13); }) ==
        Names{"missing: leaf-3 port 13 – spine-0 port 4"});
  CHECK(found_with_plan([](WiredNet& net) {
          net.wires.push_back({{net.nodes[0].id, 60}, {net.nodes[1].id, 60}});
        }) == Names{"surplus: spine-0 port 60 – spine-1 port 60"});
  WiredNet net = WiredNet::rails(kHosts, kRails, kSpines);
  const auto found = findings_of(net.text(), net.plan() + "spine-0,50,spine-9,1\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "missing");
  CHECK(found[0].what.text().find("spine-9") != std::string::npos);
}

TEST_CASE("a cable that took the place of another, which is not there, is a chain") {
  const auto found = found_with_plan([](WiredNet& net) {
    const WiredEnd host = net.at("leaf-0", 1).b;
    net.at("leaf-1", 2).b = host;
    std::erase_if(net.wires, [&](const Wire& w) { return w.b.id == host.id && w.a.port == 1; });
  });
  CHECK(found == Names{"chain: host00 mlx5_0 port 1 – leaf-0 port 1; host01 mlx5_1 port 1 – leaf-1 "
                       "port 2",
                       "wrong_rail: leaf-1 port 2"});
}

TEST_CASE(
    "a link is slow by its lanes or their rate, where more than half of its kind are faster") {
  CHECK(found_without_plan([](WiredNet& net) { net.at("leaf-4", 7).rate = "2xNDR"; }) ==
        Names{"link_rate: leaf-4 port 7 – host06 mlx5_4 port 1"});
  CHECK(found_without_plan([](WiredNet& net) { net.at("leaf-4", 14).rate = "4xHDR"; }) ==
        Names{"link_rate: spine-1 port 5 – leaf-4 port 14"});
  const auto half_slow = [](int n) {
    return [n](WiredNet& net) {
      for (int i = 0; i < n; ++i) net.wires[static_cast<size_t>(i)].rate = "4xHDR";
    };
  };
  WiredNet small = WiredNet::rails(4, 1, 0);
  half_slow(1)(small);
  CHECK(findings_of(small.text()).size() == 1);
  half_slow(2)(small);  // no longer more than half
  CHECK(findings_of(small.text()).empty());
  WiredNet three = WiredNet::rails(3, 1, 0);
  half_slow(1)(three);
  CHECK(findings_of(three.text()).empty());  // fewer than kEnoughLinks
}

TEST_CASE("duplicates are named") {
  CHECK(found_without_plan([](WiredNet& net) { net.nodes.back().lid = net.nodes.front().lid; }) ==
        Names{"duplicate_lid: LID 1"});
  CHECK(found_without_plan([](WiredNet& net) { net.nodes.front().name = "leaf-0"; }) ==
        Names{"duplicate_name: leaf-0"});
  WiredNet net = WiredNet::rails(kHosts, kRails, kSpines);
  const std::string text =
      net.text() + "\nCa\t1 \"" + net.nodes.back().id + "\"\t# \"host99 mlx5_7\"\n";
  bool guid = false;
  for (const NetFinding& f : findings_of(text))
    guid |= f.kind == "duplicate_guid" && f.part == net.nodes.back().id;
  CHECK(guid);
}

TEST_CASE("a dump that is cut off says which link is told of once") {
  WiredNet net = WiredNet::rails(4, 1, 0);
  std::string text = net.text();
  text.erase(text.rfind("\nvendid"));
  CHECK(named(findings_of(text)) == Names{"one_sided: leaf-0 port 4"});
}

TEST_CASE("a SHARP aggregation node is no adapter of a host") {
  WiredNet net = WiredNet::rails(4, 1, 0);
  net.nodes.push_back({"H-000000000000aaaa", "Mellanox Technologies Aggregation Node", 1, 60});
  net.wires.push_back({{"S-000000000000f000", 64}, {"H-000000000000aaaa", 1}, "4xHDR"});
  CHECK(findings_of(net.text()).empty());
  CHECK(shape_of(read_ibnetdiscover(net.text(), "net.txt")).adapters == 4);
}

TEST_CASE("what cannot be read is refused with its line") {
  const auto dump = [](const std::string& text) {
    return refusal([&] { read_ibnetdiscover(text, "net.txt"); });
  };
  CHECK(dump("").find("names no node") != std::string::npos);
  CHECK(dump("hello\n").find("names no node") != std::string::npos);
  CHECK(dump("\nSwitch x \"S-1\"\n").find("line 2") != std::string::npos);
  CHECK(dump("Switch 36 \"S-1\"\n[1] nonsense\n").find("line 2") != std::string::npos);
  CHECK(dump("Switch 36 \"S-1\"\n[999] \"H-1\"[1]\n").find("line 2") != std::string::npos);
  CHECK(dump("Switch 36 \"S-1\"\n\nCa 1 \"H-2\"\n").find("2 nodes and no link") !=
        std::string::npos);
  CHECK(dump("Switch 36 \"S-1\"\n[1] \"H-2\"[1]\n[1] \"H-3\"[1]\n").find("line 3") !=
        std::string::npos);  // the second line would hide the first
  const auto plan = [](const std::string& csv) {
    return refusal([&] { read_cabling(csv, "plan.csv"); });
  };
  CHECK(plan("").find("names no link") != std::string::npos);
  CHECK(plan("a,b\n").find("a_device") != std::string::npos);
  CHECK(plan("a_device,a_port,b_device,b_port\nx,1,y\n").find("line 2") != std::string::npos);
  CHECK(plan("a_device,a_port,b_device,b_port\nx,1,y,1\n\nx,1,z,1\n").find("line 2 already") !=
        std::string::npos);
}

TEST_CASE("a plan is read as people write it") {
  const auto plan = read_cabling(
      "\xef\xbb\xbf"
      "Rack,B_Port,B_Device,A_Device,A_Port\r\n\r\n\"r 1, left\",1,Host00/mlx5_0, \"LEAF-0\" "
      ",3\r\n",
      "plan.csv");
  REQUIRE(plan.size() == 1);
  CHECK(plan[0].a == PlannedEnd{"host00 mlx5_0", 1});
  CHECK(plan[0].b == PlannedEnd{"leaf-0", 3});
}
