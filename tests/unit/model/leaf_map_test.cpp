#include "model/leaf_map.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

// As ibnetdiscover prints it: two leaves, one spine, a host with two rails, an aggregation node.
constexpr const char* kFabric = R"(#
# Topology file: generated on Sat Nov 21 12:00:00 2026
#
vendid=0x2c9
devid=0xd2f0
switchguid=0x1(1)
Switch	4 "S-0000000000000001"		# "leaf2" enhanced port 0 lid 1 lmc 0
[1]	"H-00000000000000a1"[1](a1) 		# "n1 mlx5_0" lid 5 4xNDR
[2]	"H-00000000000000b1"[1](b1) 		# "n2 mlx5_0" lid 6 4xNDR
[3]	"H-00000000000000c1"[1](c1) 		# "Mellanox Technologies Aggregation Node" lid 9 4xNDR
[4]	"S-0000000000000009"[1]		# "spine1" lid 7 4xNDR

switchguid=0x2(2)
Switch	4 "S-0000000000000002"		# "leaf1" enhanced port 0 lid 2 lmc 0
[1]	"H-00000000000000d1"[1](d1) 		# "n3 mlx5_0" lid 8 4xNDR
[2]	"H-00000000000000a2"[1](a2) 		# "n1 mlx5_1" lid 5 4xNDR

vendid=0x2c9
Ca	1 "H-00000000000000a1"		# "n1 mlx5_0"
[1](a1) 	"S-0000000000000001"[1]		# lid 5 lmc 0 "leaf2" lid 1 4xNDR
)";

std::string said(const std::string& text) {
  Problems problems;
  parse_leaf_map(text, problems);
  return problems.text();
}

}  // namespace

TEST_CASE("a leaf map of lines") {
  Problems problems;
  const LeafMap map = parse_leaf_map("# racks\nn1 a\n\n  n2\tb  # second\nn1 a\n", problems);
  CHECK(problems.empty());
  CHECK(map == LeafMap{{"n1", "a"}, {"n2", "b"}});
}

TEST_CASE("a leaf map of ibnetdiscover: channel adapters below switches, and no others") {
  Problems problems;
  const LeafMap map = parse_leaf_map(kFabric, problems);
  CHECK(problems.empty());
  // n1 is on both leaves: the first by name.
  CHECK(map == LeafMap{{"n1", "leaf1"}, {"n2", "leaf2"}, {"n3", "leaf1"}});
}

TEST_CASE("a leaf map of lines with NICs: a line for the host stands before them") {
  Problems problems;
  const std::string text = "n1 mlx5_0 b\nn1 mlx5_1 a\nn2 mlx5_0 b\nn2 c\n";
  CHECK(parse_leaf_map(text, problems) == LeafMap{{"n1", "a"}, {"n2", "c"}});
  const NicLeaves own = nic_leaves(text, {"n1", "n2"}, {"mlx5_0", "mlx5_1"}, problems);
  CHECK(problems.empty());
  CHECK(own.names == std::vector<std::string>{"b", "a", "c"});
  CHECK(own.leaf == std::vector<int>{0, 1, 0, 2});
  CHECK(said("n1 m a\nn1 m b\n").find("line 2: n1 m is on a above and on b here") !=
        std::string::npos);
}

TEST_CASE("a # within a name is none of a comment") {
  Problems problems;
  const LeafMap map = parse_leaf_map("n1 leaf#0 # rack 1\nn2 m leaf#1\n#n3 a\n", problems);
  CHECK(problems.empty());
  CHECK(map == LeafMap{{"n1", "leaf#0"}, {"n2", "leaf#1"}});
}

TEST_CASE("a leaf map of ibnetdiscover: switches of one description are two leaves") {
  std::string twins = kFabric;
  for (size_t at; (at = twins.find("\"leaf2\"")) != std::string::npos;)
    twins.replace(at, 7, "\"leaf1\"");
  Problems problems;
  const NicLeaves own = nic_leaves(twins, {"n2", "n3"}, {"mlx5_0"}, problems);
  CHECK(problems.empty());
  CHECK(own.names ==
        std::vector<std::string>{"leaf1 (S-0000000000000001)", "leaf1 (S-0000000000000002)"});
}

TEST_CASE("what is wrong with a leaf map names its line") {
  CHECK(said("n1 a\nn2\n").find("line 2: write HOST LEAF or HOST NIC LEAF, not \"n2\"") !=
        std::string::npos);
  CHECK(said("n1 a b c\n").find("line 1") != std::string::npos);
  CHECK(said("n1 a\nn1 b\n").find("line 2: n1 is on a above and on b here") != std::string::npos);
  CHECK(said("").find("names no host") != std::string::npos);
  CHECK(said("# nothing\n").find("names no host") != std::string::npos);
}

TEST_CASE("hosts are grouped by leaf, a missing one is told") {
  const LeafMap map{{"n1", "b"}, {"n2", "a"}, {"n3", "b"}};
  Problems problems;
  CHECK(leaf_groups(map, {"n1", "n2.cluster", "n3"}, problems) == std::vector{1, 0, 1});
  CHECK(problems.empty());
  leaf_groups(map, {"n1", "n4"}, problems);
  CHECK(problems.text().find("no line for the host n4") != std::string::npos);
}

TEST_CASE("the leaf of each NIC: the adapter's own where the fabric tells it, else the host's") {
  Problems problems;
  const NicLeaves own = nic_leaves(kFabric, {"n1", "n3.example"}, {"mlx5_0", "mlx5_1"}, problems);
  CHECK(problems.empty());
  // n3 has one adapter only: its other NIC counts to the host's leaf.
  REQUIRE(own.leaf.size() == 4);
  CHECK(own.names[static_cast<size_t>(own.leaf[0])] == "leaf2");
  CHECK(own.names[static_cast<size_t>(own.leaf[1])] == "leaf1");
  CHECK(own.names[static_cast<size_t>(own.leaf[2])] == "leaf1");
  CHECK(own.leaf[3] == own.leaf[2]);
  const NicLeaves hosts = nic_leaves("n1 a\nn2 b\n", {"n1", "n2"}, {""}, problems);
  CHECK(problems.empty());
  CHECK(hosts.leaf == std::vector<int>{0, 1});
  CHECK(hosts.names == std::vector<std::string>{"a", "b"});
  nic_leaves("n1 a\n", {"n9"}, {""}, problems);
  CHECK(problems.text().find("has no line for the host n9") != std::string::npos);
}
