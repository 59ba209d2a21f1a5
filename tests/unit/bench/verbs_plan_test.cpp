// What verbs measures, from its parameters; the rails; ceilings of composed machines.
#include "bench/network/verbs/plan.h"

#include <cstdlib>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../sys/tree.h"
#include "bench/network/leaves.h"
#include "bench/network/measure.h"
#include "bench/network/verbs/address.h"
#include "bench/network/verbs/device.h"
#include "bench/network/verbs/payload.h"
#include "bench/network/verbs/rails.h"
#include "bench/network/verbs/setup.h"

using namespace cb;

namespace {

Params resolved(GivenParams given) {
  Problems problems;
  const Params out = resolve_params(verbs::params(), given, problems);
  verbs::check_params(out, problems);
  REQUIRE_MESSAGE(problems.empty(), problems.text());
  return out;
}

std::string refused(GivenParams given) {
  Problems problems;
  const Params out = resolve_params(verbs::params(), given, problems);
  if (problems.empty()) verbs::check_params(out, problems);
  return problems.text();
}

RdmaPort port(const char* device, const char* state) {
  return {.device = device, .link_layer = "Ethernet", .state = state};
}

}  // namespace

TEST_CASE("atomics are 8 bytes, latency is one-way over one queue pair") {
  const auto points = verbs::plan(resolved({{"op", {"write,fetch_add"}},
                                            {"direction", {"one-way,two-way"}},
                                            {"size", {"64,4K"}},
                                            {"qps", {"1,4"}}}));
  size_t latency = 0;
  for (const auto& p : points) {
    if (p.spec.verb == verbs::Verb::fetch_add) CHECK(p.spec.bytes == 8);
    if (!p.spec.latency) continue;
    ++latency;
    CHECK(p.spec.qps == 1);
    CHECK_FALSE(p.spec.two_way);
  }
  CHECK(latency == 3);  // write at two sizes, fetch_add at one
  CHECK(points.size() == 8 + 2 + 4 + 1);
  CHECK(points[0].params.text("op") == "write");
  CHECK(points[0].params.integer("size") == 64);
}

TEST_CASE("services have the operations that they have") {
  const auto points = verbs::plan(
      resolved({{"op", {"write,read,send"}}, {"service", {"rc,uc,ud"}}, {"test", {"latency"}}}));
  CHECK(points.size() == 3 + 2 + 1);
  CHECK(refused({{"op", {"read"}}, {"service", {"uc"}}}).find("need rc") != std::string::npos);
  CHECK(refused({{"mtu", {"1500"}}}).find("--mtu") != std::string::npos);
  CHECK(refused({{"tx-depth", {"8"}}, {"post-list", {"9"}}}).find("--post-list") !=
        std::string::npos);
}

TEST_CASE("a sweep") {
  const auto points = verbs::plan(resolved({{"test", {"bandwidth"}},
                                            {"min-size", {"64"}},
                                            {"max-size", {"4K"}},
                                            {"step-factor", {"8"}}}));
  std::vector<uint64_t> sizes;
  for (const auto& p : points) sizes.push_back(p.spec.bytes);
  CHECK(sizes == std::vector<uint64_t>{64, 512, 4096});
}

TEST_CASE("a fault can be planted where data arrives in one of the points") {
  const auto receiving = [](GivenParams given) {
    const RankMap place{.host = "n0", .hosts = {"n0", "n1", "n2"}, .host_of_rank = {0, 0, 1, 1, 2}};
    const auto points = verbs::plan(resolved(std::move(given)));
    return net::receiving_ranks(verbs::arrivals(points), net::nodes_of(place), 2);
  };
  using Ranks = std::vector<int>;
  const GivenParams bandwidth{{"test", {"bandwidth"}}};
  const auto with = [&](const char* name, const char* value) {
    GivenParams out = bandwidth;
    out[name] = {value};
    return out;
  };
  // Of three hosts the third has no partner; each rank serves a rail.
  CHECK(receiving(bandwidth) == Ranks{2, 3});
  CHECK(receiving(with("op", "send")) == Ranks{2, 3});
  CHECK(receiving(with("op", "fetch_add")) == Ranks{2, 3});
  CHECK(receiving(with("op", "read")) == Ranks{0, 1});
  CHECK(receiving(with("op", "write,read")) == Ranks{0, 1, 2, 3});
  CHECK(receiving(with("direction", "two-way")) == Ranks{0, 1, 2, 3});
  CHECK(receiving(with("schedule", "incast")) == Ranks{0, 1});
  CHECK(receiving(with("schedule", "pair,one-to-many")) == Ranks{2, 3, 4});
  CHECK(receiving({{"test", {"latency"}}}) == Ranks{0, 1, 2, 3});
  CHECK(receiving({{"test", {"latency"}}, {"op", {"read"}}}) == Ranks{0, 1});
  CHECK(receiving({{"test", {"latency"}}, {"op", {"compare_swap"}}}) == Ranks{2, 3});
  // The only byte of such a message is the one that the receiver waits for: nobody compares it.
  CHECK(receiving({{"test", {"latency"}}, {"size", {"1"}}}).empty());
  CHECK(refused({{"verify", {"false"}}, {"inject-fault", {"0"}}}).find("nobody looks") !=
        std::string::npos);
}

TEST_CASE("what a NIC cannot do is told by the options of the case that asks") {
  verbs::Device nic;
  nic.name_ = "n1 mlx5_0";
  nic.limits.max_qp = 100;
  nic.limits.max_qp_wr = 4096;
  nic.limits.max_cqe = 1 << 20;
  nic.limits.max_qp_rd_atom = 16;
  nic.port.active_mtu = IBV_MTU_4096;
  nic.port.max_msg_sz = 1 << 20;
  const verbs::Spec deep{.bytes = 1 << 20, .depth = 4097}, large{.bytes = (1 << 20) + 8};
  const verbs::OptionNames pages{.depth = "--window", .bytes = "--page-tokens with pages of"};
  using Lines = std::vector<std::string>;
  CHECK(verbs::unsupported(nic, {.bytes = 1 << 20, .depth = 4096}).empty());
  CHECK(verbs::unsupported(nic, deep) ==
        Lines{"--tx-depth 4097 is more than the 4096 requests per queue pair that n1 mlx5_0 has"});
  CHECK(verbs::unsupported(nic, deep, pages) ==
        Lines{"--window 4097 is more than the 4096 requests per queue pair that n1 mlx5_0 has"});
  CHECK(verbs::unsupported(nic, large) ==
        Lines{"--size 1048584 is more than the 1048576 bytes a message that n1 mlx5_0 has"});
  CHECK(
      verbs::unsupported(nic, large, pages) ==
      Lines{"--page-tokens with pages of 1048584 is more than the 1048576 bytes a message that n1 "
            "mlx5_0 has"});
}

TEST_CASE("rails: active ones in order, named ones, one host's own") {
  const std::vector<RdmaPort> ports{port("mlx5_0", "ACTIVE"), port("mlx5_1", "DOWN"),
                                    port("mlx5_2", "ACTIVE")};
  const std::vector<std::string> hosts{"n1", "n2"};
  const auto names = [&](std::vector<std::string> asked, const char* host) {
    Problems problems;
    std::string out;
    for (const RdmaPort& p : verbs::choose_rails(asked, ports, host, hosts, problems))
      out += p.name() + " ";
    return problems.empty() ? out : problems.text();
  };
  CHECK(names({"auto"}, "n1") == "mlx5_0 mlx5_2 ");
  CHECK(names({"mlx5_2", "mlx5_1"}, "n1") == "mlx5_2 mlx5_1 ");
  CHECK(names({"n1:mlx5_0", "n2:mlx5_2"}, "n1") == "mlx5_0 ");
  CHECK(names({"n1:mlx5_0", "n2:mlx5_2"}, "n2") == "mlx5_2 ");
  CHECK(names({"mlx5_7"}, "n1").find("did you mean") != std::string::npos);
}

TEST_CASE("ceilings from link, headers and slot") {
  RdmaPort ib{.device = "mlx5_0", .link_layer = "InfiniBand", .state = "ACTIVE"};
  ib.signal_bits_per_second = 400e9;
  ib.link = "4X NDR";
  ib.pci_address = "0000:9b:00.0";
  ib.pcie_generation = 5;
  ib.pcie_lanes = 16;
  verbs::RailLimits limits = verbs::rail_limits(ib);
  limits.mtu = 4096;
  verbs::Setup setup;
  setup.limits = {{limits}, {limits}};
  verbs::Spec spec;
  spec.bytes = 8 << 20;
  const auto one = setup.ceiling({0, 1, 0, 0}, spec);
  REQUIRE(one.has_value());
  CHECK(one->value == doctest::Approx(400e9 / 8 * 4096 / 4122).epsilon(1e-4));
  CHECK(one->how.text().find("400 Gb/s") != std::string::npos);
  spec.two_way = true;
  CHECK(setup.ceiling({0, 1, 0, 0}, spec)->value == doctest::Approx(2 * one->value));
  // Trained at eight of its sixteen lanes, with a small MTU: what it was built for stays the bound,
  // so that it misses it.
  RdmaPort half = ib;
  half.pcie_max_generation = 5;
  half.pcie_max_lanes = 16;
  half.pcie_lanes = 8;
  verbs::RailLimits built = verbs::rail_limits(half);
  built.mtu = 4096;
  built.active_mtu = 1024;
  setup.limits = {{limits}, {built}};
  spec.two_way = false;
  CHECK(setup.ceiling({0, 1, 0, 0}, spec)->value == doctest::Approx(one->value));
  CHECK(*built.slot_bytes_per_second == doctest::Approx(2 * 32e9 * 8 * 128 / 130 / 8 * 256 / 280));
  CHECK(built.slot == "generation 5 ×16, in use generation 5 ×8");
  setup.limits = {{built}, {built}};
  CHECK(setup.ceiling({0, 1, 0, 0}, spec)->how.text().find("MTU 4096 (1024 in use)") !=
        std::string::npos);
  // A NIC that was built with eight lanes: the slot is the bound, and the slower end counts.
  ib.pcie_lanes = 8;
  verbs::RailLimits narrow = verbs::rail_limits(ib);
  narrow.mtu = 4096;
  setup.limits = {{limits}, {narrow}};
  spec.two_way = false;
  const auto slot = setup.ceiling({0, 1, 0, 0}, spec);
  CHECK(slot->value == doctest::Approx(32e9 * 8 * 128 / 130 / 8 * 256 / 280));
  CHECK(slot->how.text().find("PCIe") != std::string::npos);
  // A software device has neither.
  RdmaPort rxe = port("rxe0", "ACTIVE");
  rxe.signal_bits_per_second = 10e9;
  setup.limits = {{verbs::rail_limits(rxe)}, {limits}};
  CHECK_FALSE(setup.ceiling({0, 1, 0, 0}, spec).has_value());
}

TEST_CASE("each driver's machine yields its ceiling: rate, headers of its GID's family, slot") {
  const auto ceiling_of = [](const char* machine) {
    const test::Tree tree(machine);
    verbs::RailLimits limits = verbs::rail_limits(rdma_ports(tree.fs()).at(0));
    limits.mtu = 4096;
    verbs::Setup setup;
    setup.limits = {{limits}, {limits}};
    verbs::Spec spec;
    spec.bytes = 1 << 20;
    return setup.ceiling({0, 1, 0, 0}, spec);
  };
  // 256 packets a message with so many bytes around each, and a RETH of 16 once.
  const auto expected = [](double bits, double around) {
    return bits / 8 * (1 << 20) / ((1 << 20) + 256 * around + 16);
  };
  CHECK(ceiling_of("rdma_ib")->value == doctest::Approx(expected(400e9, 26)));
  CHECK(ceiling_of("rdma_roce")->value == doctest::Approx(expected(400e9, 82)));
  CHECK(ceiling_of("rdma_irdma")->value == doctest::Approx(expected(100e9, 82)));
  CHECK(ceiling_of("rdma_bnxt")->value == doctest::Approx(expected(200e9, 102)));  // IPv6 alone
  CHECK_FALSE(ceiling_of("rdma_rxe").has_value());
}

TEST_CASE("an address reads back, and nonsense is refused") {
  verbs::Address a{.lid = 7, .global = true, .mtu = 4096, .sequence = 0xabcdef, .key = 42};
  a.gid = {0xfe, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 255};
  a.out = 0x7fff12345678;
  a.in = a.out + 4096;
  a.reads = 16;
  a.control = 99;
  a.pairs = {100, 101};
  a.ethernet = true;
  a.name = "n1 mlx5_0";
  const verbs::Address b = verbs::Address::parse(a.text());
  CHECK(b.text() == a.text());
  CHECK(b.gid == a.gid);
  CHECK(b.pairs == a.pairs);
  CHECK(b.name == "n1 mlx5_0");
  CHECK_THROWS_AS(verbs::Address::parse(""), Error);
  CHECK_THROWS_AS(verbs::Address::parse("1 2 3"), Error);
}

TEST_CASE("the payload depends on its position and its seed") {
  size_t equal_neighbours = 0, equal_seeds = 0;
  for (uint64_t i = 0; i < 4096; ++i) {
    equal_neighbours += verbs::payload_byte(1, i) == verbs::payload_byte(1, i + 1) ? 1 : 0;
    equal_seeds += verbs::payload_byte(1, i) == verbs::payload_byte(2, i) ? 1 : 0;
  }
  // 1 in 256 by chance.
  CHECK(equal_neighbours < 64);
  CHECK(equal_seeds < 64);
}

namespace {

// What three queue pairs of four slots hold after so many messages of each have arrived.
struct Landed {
  static constexpr uint64_t kSlots = 4, kBytes = 64, kPeer = 1;
  verbs::Spec spec;
  std::vector<std::byte> bytes = std::vector<std::byte>(3 * kSlots * kBytes);
  verbs::Counts counts;

  Landed(verbs::Service service, verbs::Counts of_each) : counts(std::move(of_each)) {
    spec.verb = verbs::Verb::send;
    spec.service = service;
    spec.bytes = kBytes;
    for (size_t q = 0; q < 3; ++q) {
      for (uint64_t slot = 0; slot < kSlots; ++slot) {
        const uint64_t seed = verbs::message_seed(spec, kPeer, q, slot);
        const uint8_t flip = slot < counts[q] ? 0 : 0xff;
        for (uint64_t i = 0; i < kBytes; ++i)
          at(q, slot)[i] = static_cast<std::byte>(verbs::payload_byte(seed, i) ^ flip);
      }
    }
  }
  std::byte* at(size_t q, uint64_t slot) { return bytes.data() + (q * kSlots + slot) * kBytes; }
  verbs::Landing landing() {
    return {spec, 3, kSlots, [this](size_t q, uint64_t slot) { return at(q, slot); }};
  }
  std::optional<verbs::WrongByte> wrong() { return verbs::first_wrong(landing(), kPeer, counts); }
};

}  // namespace

TEST_CASE("each queue pair is compared by its own count: a silent one hides no other") {
  for (const auto service : {verbs::Service::rc, verbs::Service::uc, verbs::Service::ud}) {
    Landed landed(service, {2, 0, 9});
    CHECK_FALSE(landed.wrong());
    landed.at(0, 1)[63] ^= std::byte{1};
    const auto wrong = landed.wrong();
    REQUIRE(wrong);
    CHECK(wrong->pair == 0);
    CHECK(wrong->slot == 1);
    CHECK(wrong->position == 63);
    CHECK((wrong->got ^ wrong->wanted) == 1);
  }
  CHECK_FALSE(Landed(verbs::Service::ud, {0, 0, 0}).wrong());
}

TEST_CASE("a byte is spoilt where a message arrived, and found there") {
  const std::vector<std::pair<verbs::Counts, size_t>> all{
      {{1, 1, 1}, 2}, {{3, 0, 1}, 2}, {{5, 2, 0}, 1}, {{1, 0, 0}, 0}};
  for (const auto& [counts, pair] : all) {
    Landed landed(verbs::Service::ud, counts);
    verbs::spoil(landed.landing(), counts);
    const auto wrong = landed.wrong();
    REQUIRE(wrong);
    CHECK(wrong->pair == pair);
    CHECK(wrong->slot == 0);
  }
}

TEST_CASE("schedules over nodes and rails") {
  const auto rounds = [](const char* schedule, int nodes, int rails, bool one_by_one) {
    net::Nodes n;
    for (int i = 0; i < nodes; ++i) {
      n.ranks.push_back({i});
      n.names.push_back("n" + std::to_string(i));
    }
    return net::plan_rounds(resolved({{"schedule", {schedule}}, {"target", {"n0"}}}), n, rails,
                            one_by_one);
  };
  CHECK(rounds("tournament", 6, 1, false).size() == 5);
  CHECK(rounds("shift", 5, 2, false).size() == 4);
  CHECK(rounds("shift", 5, 2, false)[0].size() == 10);
  CHECK(rounds("shift", 5, 2, true).size() == 8);
  CHECK(rounds("pair", 4, 1, false)[0].size() == 2);
  CHECK(rounds("all-to-all", 4, 1, false)[0].size() == 12);
  CHECK(rounds("incast", 4, 1, false)[0].size() == 3);
  const auto loop = rounds("loopback", 3, 2, false);
  REQUIRE(loop.size() == 1);
  for (const auto& p : loop[0]) CHECK((p.from == p.to && p.from_rail == p.to_rail));
  const auto cross = rounds("cross-rail", 2, 4, false);
  CHECK(cross.size() == 3);
  for (const auto& round : cross) {
    for (const auto& p : round) CHECK(p.from_rail != p.to_rail);
  }
  CHECK_THROWS_AS(rounds("cross-rail", 2, 1, false), UsageError);
  CHECK_THROWS_AS(rounds("pair", 1, 1, false), UsageError);
}

TEST_CASE("bisection splits by leaf where leaves are known") {
  net::Nodes nodes;
  for (int i = 0; i < 4; ++i) {
    nodes.ranks.push_back({i});
    nodes.names.push_back("n" + std::to_string(i));
  }
  const auto params = resolved({{"schedule", {"bisection"}}});
  const auto pairs = [&] {
    std::set<std::pair<int, int>> out;
    const auto rounds = net::plan_rounds(params, nodes, 1, false);
    for (const net::RailPair& p : rounds.at(0)) out.insert({p.from, p.to});
    return out;
  };
  CHECK(pairs() == std::set<std::pair<int, int>>{{0, 2}, {1, 3}});
  CHECK(net::bisection_fact(nodes, {}) == "hosts in their order, no --leaf-map");
  nodes.leaf = {0, 1, 0, 1};
  CHECK(pairs() == std::set<std::pair<int, int>>{{0, 1}, {2, 3}});
  CHECK(net::bisection_fact(nodes, net::plan_rounds(params, nodes, 1, false)) ==
        "2 leaves of --leaf-map, 2 of 2 pairs cross");
  nodes.leaf = {0, 0, 0, 1};
  CHECK(net::bisection_fact(nodes, net::plan_rounds(params, nodes, 1, false)) ==
        "2 leaves of --leaf-map, 1 of 2 pairs cross");
}

TEST_CASE("pairs within leaves and across them") {
  net::Nodes nodes;
  for (int i = 0; i < 6; ++i) {
    nodes.ranks.push_back({i});
    nodes.names.push_back("n" + std::to_string(i));
  }
  const auto within =
      resolved({{"schedule", {"within-leaf"}}, {"leaf-map", {"f"}}, {"rounds", {"1"}}});
  const auto across = resolved({{"schedule", {"across-leaves"}}, {"leaf-map", {"f"}}});
  nodes.leaf = {0, 0, 1, 1, 0, 0};
  const auto inner = net::plan_rounds(within, nodes, 1, false);
  REQUIRE(inner.size() == 1);
  REQUIRE(inner[0].size() == 3);
  const auto leaf_of = [&](int node) { return nodes.leaf[static_cast<size_t>(node)]; };
  for (const net::RailPair& p : inner[0]) CHECK(leaf_of(p.from) == leaf_of(p.to));
  // Of four hosts on one leaf and two on the other, two pairs can cross.
  const auto outer = net::plan_rounds(across, nodes, 2, false);
  REQUIRE(outer.size() == 1);
  CHECK(outer[0].size() == 4);  // on two rails
  for (const net::RailPair& p : outer[0]) CHECK(leaf_of(p.from) != leaf_of(p.to));
  std::map<std::string, Said> facts;
  net::add_leaf_facts(facts, across, nodes, outer);
  CHECK(facts.at("leaf_pairs") == "0 pairs within their leaf, 4 across leaves");
  net::add_leaf_facts(facts, within, nodes, inner);
  CHECK(facts.at("leaf_pairs") == "3 pairs within their leaf, 0 across leaves");

  nodes.leaf = {0, 0, 0, 0, 0, 0};
  CHECK_THROWS_AS(net::plan_rounds(across, nodes, 1, false), UsageError);
  nodes.leaf = {0, 1, 2, 3, 4, 5};
  CHECK_THROWS_AS(net::plan_rounds(within, nodes, 1, false), UsageError);
  CHECK(refused({{"schedule", {"within-leaf"}}}).find("need --leaf-map FILE") != std::string::npos);
}

TEST_CASE("several schedules: the points of each, in the order given") {
  const GivenParams one{{"test", {"bandwidth"}}, {"size", {"64,4K"}}, {"schedule", {"shift"}}};
  GivenParams two = one;
  two["schedule"] = {"incast,shift"};
  const auto alone = verbs::plan(resolved(one));
  const auto both = verbs::plan(resolved(two));
  REQUIRE(alone.size() == 2);
  REQUIRE(both.size() == 4);
  CHECK(both[0].params.text("schedule") == "incast");
  CHECK(both[1].params.integer("size") == 4096);
  // As if each had been asked for by itself.
  CHECK(both[2].params == alone[0].params);
  CHECK(both[3].params == alone[1].params);
  CHECK(refused({{"schedule", {"pair,incats"}}}).find("did you mean incast?") != std::string::npos);
}

TEST_CASE("of several schedules each can be had, or none is measured") {
  net::Nodes nodes;
  for (int i = 0; i < 2; ++i) {
    nodes.ranks.push_back({i});
    nodes.names.push_back("n" + std::to_string(i));
  }
  const Params params = resolved({{"schedule", {"pair,cross-rail"}}});
  CHECK_THROWS_AS(net::require_schedules(params, nodes, 1), UsageError);
  CHECK_NOTHROW(net::require_schedules(params, nodes, 2));
}

TEST_CASE("a leaf map belongs to bisection") {
  const Params params =
      resolved({{"leaf-map", {"f"}}, {"schedule", {"tournament,bisection"}}, {"size", {"8"}}});
  const auto by = net::by_schedule(params);
  REQUIRE(by.size() == 2);
  CHECK_FALSE(by[0].has("leaf-map"));
  CHECK(by[1].text("leaf-map") == "f");
}

TEST_CASE("a leaf map that nothing asks for") {
  CHECK(refused({{"leaf-map", {"f"}}}).find("only --schedule bisection") != std::string::npos);
  CHECK(refused({{"leaf-map", {"f"}}, {"schedule", {"pair,shift"}}}).find("only --schedule") !=
        std::string::npos);
  CHECK(refused({{"leaf-map", {"f"}}, {"schedule", {"bisection"}}}).empty());
}

TEST_CASE("Jain's index") {
  CHECK(net::fairness_index({5, 5, 5, 5}) == doctest::Approx(1));
  CHECK(net::fairness_index({8, 0, 0, 0}) == doctest::Approx(0.25));
  CHECK(net::fairness_index({3, 1}) == doctest::Approx(0.8));
  CHECK(net::fairness_index({}) == 0);
}
