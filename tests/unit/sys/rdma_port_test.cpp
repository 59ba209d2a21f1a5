// RDMA ports and counters as /sys shows them, on composed machines.
#include "sys/net/rdma_port.h"

#include <doctest/doctest.h>

#include "sys/net/rdma_counters.h"
#include "tree.h"

using namespace cb;

namespace {

std::vector<std::string> names(const std::vector<RdmaPort>& ports) {
  std::vector<std::string> out;
  for (const RdmaPort& p : ports) out.push_back(p.name());
  return out;
}

}  // namespace

TEST_CASE("rails are in the order of the slots, not of the names") {
  const test::Tree tree("rdma_ib");
  const auto ports = rdma_ports(tree.fs());
  CHECK(names(ports) == std::vector<std::string>{"mlx5_1", "mlx5_0", "mlx5_2", "mlx4_0"});
  const RdmaPort& first = ports[0];
  CHECK(first.active());
  CHECK_FALSE(first.ethernet());
  CHECK(first.driver == "mlx5_core");
  CHECK(first.signal_bits_per_second == 400e9);
  CHECK(first.link == "4X NDR");
  CHECK(first.numa_node == 1);
  CHECK(first.pcie_generation == 5);
  CHECK(first.pcie_lanes == 16);
  REQUIRE(best_gid(first) != nullptr);
  CHECK(best_gid(first)->index == 0);
  // A port that is down states a rate that means nothing.
  CHECK_FALSE(ports[2].active());
  CHECK(ports[2].physical_state == "Polling");
  CHECK_FALSE(ports[2].signal_bits_per_second.has_value());
}

TEST_CASE("RoCE: version 2 with the interface's own IPv4 address wins") {
  const test::Tree tree("rdma_roce");
  const auto ports = rdma_ports(tree.fs());
  REQUIRE(ports.size() == 2);
  for (const RdmaPort& p : ports) {
    REQUIRE(p.gids.size() == 5);
    const RdmaGid* gid = best_gid(p);
    REQUIRE(gid != nullptr);
    CHECK(gid->index == 3);
    CHECK(gid->roce == RoceVersion::v2);
    CHECK(gid->is_ipv4());
    CHECK(gid->netdev == p.netdev);
  }
}

TEST_CASE("the best GID is where each driver has it") {
  CHECK(best_gid(rdma_ports(test::Tree("rdma_rxe").fs()).at(0))->index == 1);
  CHECK(best_gid(rdma_ports(test::Tree("rdma_irdma").fs()).at(0))->index == 1);
  // IPv6 alone: the routable one of version 2.
  CHECK(best_gid(rdma_ports(test::Tree("rdma_bnxt").fs()).at(0))->index == 3);
}

TEST_CASE("a RoCE port without a usable GID has none") {
  RdmaPort port{.device = "d", .link_layer = "Ethernet"};
  CHECK(best_gid(port) == nullptr);
}

TEST_CASE("GIDs are compared by version, address, scope and interface, in this order") {
  const auto gid = [](const char* text, RoceVersion version, const char* netdev) {
    return RdmaGid{0, *parse_gid(text), version, netdev};
  };
  const char* v4 = "0000:0000:0000:0000:0000:ffff:0a00:0005";
  const char* local4 = "0000:0000:0000:0000:0000:ffff:a9fe:0005";  // 169.254/16
  const char* v6 = "2001:0db8:0000:0000:0000:0000:0000:0001";
  const char* local6 = "fe80:0000:0000:0000:0000:0000:0000:0001";
  const int best = gid_score(gid(v4, RoceVersion::v2, "e"), "e");
  CHECK(best > gid_score(gid(v4, RoceVersion::v2, "other"), "e"));
  CHECK(gid_score(gid(v4, RoceVersion::v2, "x"), "e") >
        gid_score(gid(local4, RoceVersion::v2, "e"), "e"));
  CHECK(gid_score(gid(local4, RoceVersion::v2, "x"), "e") >
        gid_score(gid(v6, RoceVersion::v2, "e"), "e"));
  CHECK(gid_score(gid(v6, RoceVersion::v2, "x"), "e") >
        gid_score(gid(local6, RoceVersion::v2, "e"), "e"));
  CHECK(gid_score(gid(local6, RoceVersion::v2, "x"), "e") >
        gid_score(gid(v4, RoceVersion::v1, "e"), "e"));
  CHECK(gid_score(gid("0000:0000:0000:0000:0000:0000:0000:0000", RoceVersion::v2, "e"), "e") < 0);
}

TEST_CASE("GIDs that are none") {
  CHECK_FALSE(parse_gid("").has_value());
  CHECK_FALSE(parse_gid("fe80:0000:0000:0000:04c2:b5ff:fec0").has_value());
  CHECK_FALSE(parse_gid("fe80:0000:0000:0000:04c2:b5ff:fec0:45fg").has_value());
  CHECK_FALSE(parse_gid("fe80-0000:0000:0000:04c2:b5ff:fec0:45fa").has_value());
}

TEST_CASE("counters carry one name whatever the driver calls them; absent is absent") {
  const auto read = [](const char* machine) {
    const test::Tree tree(machine);
    return read_rdma_counters(tree.fs(), rdma_ports(tree.fs()).at(0));
  };
  const RdmaCounters ib = read("rdma_ib"), roce = read("rdma_roce"), rxe = read("rdma_rxe"),
                     irdma = read("rdma_irdma"), bnxt = read("rdma_bnxt");
  CHECK(ib.at("out_of_sequence") == 3);
  CHECK(ib.at("ack_timeouts") == 4);
  CHECK(ib.at("sequence_naks_received") == 1);
  CHECK(ib.at("link_downed") == 2);
  CHECK(roce.at("cnp_sent") == 7);
  CHECK(roce.at("cnp_handled") == 8);
  CHECK(roce.at("ecn_marked") == 9);
  CHECK(roce.at("icrc_errors") == 2);
  CHECK(rxe.at("out_of_sequence") == 7);
  CHECK(rxe.at("ack_timeouts") == 5);
  CHECK(rxe.at("packets_sent") == 1000);
  CHECK(irdma.at("cnp_sent") == 3);
  CHECK(irdma.at("ecn_marked") == 5);
  CHECK(irdma.at("retransmissions") == 6);
  CHECK(bnxt.at("out_of_sequence") == 1);
  CHECK(bnxt.at("ack_timeouts") == 3);
  CHECK(bnxt.at("receive_discards") == 4);
  for (const RdmaCounters* c : {&ib, &roce, &rxe, &irdma, &bnxt})
    CHECK_FALSE(c->contains("lifespan"));
  CHECK_FALSE(rxe.contains("symbol_error"));  // rxe has no counters/
  CHECK_FALSE(bnxt.contains("cnp_sent"));
}

TEST_CASE("how old the driver's counters may be is the kernel's lifespan and a tick") {
  const auto age = [](const test::Tree& tree) {
    return rdma_counters_age(tree.fs(), rdma_ports(tree.fs()).at(0)).count();
  };
  test::Tree rxe("rdma_rxe");
  CHECK(age(rxe) == 20);
  rxe.add("/sys/class/infiniband/rxe0/ports/1/hw_counters/lifespan", "100\n");
  CHECK(age(rxe) == 110);
  rxe.add("/sys/class/infiniband/rxe0/ports/1/hw_counters/lifespan", "99999\n");
  CHECK(age(rxe) == 10010);
  rxe.add("/sys/class/infiniband/rxe0/ports/1/hw_counters/lifespan", "soon\n");
  CHECK(age(rxe) == 0);
}

TEST_CASE("faults, congestion and saturation") {
  CHECK(is_fault_counter("out_of_sequence"));
  CHECK(is_fault_counter("eth_rx_prio3_discards"));
  CHECK_FALSE(is_fault_counter("port_xmit_data"));
  CHECK_FALSE(is_fault_counter("cnp_sent"));
  CHECK(is_congestion_counter("cnp_sent"));
  CHECK(is_congestion_counter("eth_rx_prio3_pause"));
  CHECK_FALSE(is_congestion_counter("link_downed"));
  CHECK(is_saturated("local_link_integrity_errors", 15));
  CHECK_FALSE(is_saturated("local_link_integrity_errors", 14));
  CHECK(is_saturated("link_downed", 255));
  CHECK_FALSE(is_saturated("port_xmit_data", 65535));
}
