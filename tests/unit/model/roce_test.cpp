// Priorities as the kernel and switches tell them, from composed messages; every wrong setting.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <functional>

#include "core/error.h"
#include "core/file.h"
#include "model/roce/audit.h"

using namespace cb;

namespace {

std::string number16(unsigned value) {
  const auto v = static_cast<uint16_t>(value);
  std::string out(sizeof v, '\0');
  std::memcpy(out.data(), &v, sizeof v);
  return out;
}
std::string number32(uint32_t value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}
std::string attr(unsigned type, const std::string& value) {
  std::string out = number16(static_cast<unsigned>(value.size()) + 4) + number16(type) + value;
  out.resize((out.size() + 3) / 4 * 4, '\0');
  return out;
}
std::string message(unsigned type, const std::string& body) {
  return number32(static_cast<uint32_t>(body.size()) + 16) + number16(type) + number16(0) +
         number32(1) + number32(0) + body;
}

// Priority 3 lossless in class 3 with 50 %, DSCP 26 → 3 and 48 → 6; DSCP is trusted.
std::string good_dcb() {
  std::string ets(59, '\0');
  for (size_t i = 0; i < 8; ++i) {
    ets[3 + i] = i == 3 ? 50 : 0;
    ets[19 + i] = i == 6 ? 0 : 2;
    ets[27 + i] = static_cast<char>(i);
  }
  std::string pfc(136, '\0');
  pfc[0] = 8;
  pfc[1] = 0x08;
  const std::string apps = attr(1, std::string("\x05\x03", 2) + number16(26)) +
                           attr(1, std::string("\x05\x06", 2) + number16(48));
  const std::string ieee =
      attr(1, ets) + attr(2, pfc) + attr(3 | 0x8000, apps) + attr(11, attr(1, "\x05"));
  return message(78, std::string(4, '\0') + attr(1, std::string("eth0\0", 5)) + attr(13, ieee));
}

RoceNic nic(const std::string& host, int i) {
  RoceNic out;
  out.host = host;
  out.device = "mlx5_" + std::to_string(i);
  out.port_name = "eth" + std::to_string(i);
  out.driver = "mlx5_core";
  out.dcb = decode_dcb(good_dcb());
  out.trust = "dscp";
  out.pause = RocePause{};
  out.ecn = RoceEcn{8, 8};
  out.cnp_dscp = 48;
  out.mtu_bytes = 9000;
  out.rdma_mtu_bytes = 4096;
  out.gids = {{0, false, false}, {1, true, false}, {2, false, true}, {3, true, true}};
  out.address = 0x0a000001U + (static_cast<uint32_t>(i) << 8);
  out.prefix_bits = 24;
  out.arp_ignore = out.arp_announce = out.reverse_filter = 0;
  LldpNeighbour n{
      .chassis = "00:01", .port = "Ethernet" + host + std::to_string(i), .name = "leaf-0"};
  n.frame_bytes = 9216;
  n.dcb.pfc = 8;
  out.neighbour = n;
  return out;
}

std::vector<RoceHost> good_hosts() {
  std::vector<RoceHost> out;
  for (const char* host : {"n1", "n2"}) {
    RoceHost one{.host = host, .nics = {nic(host, 0), nic(host, 1)}};
    one.rules.emplace();
    one.nccl_class = 106;
    one.listened = true;
    out.push_back(std::move(one));
  }
  return out;
}

std::string kinds(const RoceAudit& audit) {
  std::string out;
  for (const RoceFinding& f : audit.findings) out += f.host + " " + f.device + " " + f.kind + "\n";
  return out;
}

}  // namespace

TEST_CASE("the kernel's answer about priorities, from its bytes") {
  const auto dcb = decode_dcb(good_dcb());
  REQUIRE(dcb);
  CHECK(dcb->pfc == 8U);
  REQUIRE(dcb->class_of_priority);
  CHECK((*dcb->class_of_priority)[6] == 6);
  CHECK(dcb->bandwidth[3] == 50);
  CHECK(dcb->algorithm[3] == 2);
  CHECK(dcb->algorithm[6] == 0);
  CHECK(dcb->priority_of(26) == 3);
  CHECK(dcb->priority_of(48) == 6);
  CHECK_FALSE(dcb->priority_of(0).has_value());
  CHECK(dcb->trusted == std::vector<int>{5});
  const std::string whole = good_dcb();
  for (size_t cut = 0; cut < whole.size(); ++cut) decode_dcb(whole.substr(0, cut));
  CHECK_FALSE(decode_dcb(message(79, std::string(64, '\0'))).has_value());
  CHECK_FALSE(decode_dcb("").has_value());
}

TEST_CASE("rules of the routing policy, one after the other") {
  const auto rule = [](unsigned bits, const std::string& address, uint32_t table) {
    std::string head(12, '\0');
    head[0] = 2;
    head[2] = static_cast<char>(bits);
    std::string attributes = attr(15, number32(table));
    if (!address.empty()) attributes += attr(2, address);
    return message(32, head + attributes);
  };
  const auto rules =
      decode_rules(rule(0, "", 255) + rule(32, std::string("\x0a\0\0\x01", 4), 1001));
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].bits == 0);
  CHECK(rules[0].table == 255);
  CHECK(rules[1].address == 0x0a000001U);
  CHECK(rules[1].bits == 32);
  CHECK(rules[1].table == 1001);
}

TEST_CASE("a neighbour's frame, whole, cut off and of a neighbour that leaves") {
  const auto part = [](unsigned type, const std::string& value) {
    const unsigned head = type << 9 | static_cast<unsigned>(value.size());
    return std::string{static_cast<char>(head >> 8), static_cast<char>(head & 255)} + value;
  };
  const std::string ids =
      part(1, std::string("\x04\x00\x11\x22\x33\x44\x55", 7)) + part(2,
                                                                     "\x05"
                                                                     "Ethernet4");
  const std::string rest = part(4, "etp2a") + part(5, "leaf-03.site") +
                           part(127, std::string("\x00\x12\x0f\x04\x24\x00", 6)) +
                           part(127, std::string("\x00\x80\xc2\x0b\x08\x08", 6)) +
                           part(127, std::string("\x00\x80\xc2\x0c\x00\x65\x00\x1a", 8)) +
                           std::string(2, '\0');
  const std::string frame = ids + part(3, std::string("\0\x78", 2)) + rest;
  const auto heard = decode_lldp(frame);
  REQUIRE(heard);
  CHECK(heard->chassis == "00:11:22:33:44:55");
  CHECK(heard->port == "Ethernet4");
  CHECK(heard->description == "etp2a");
  CHECK(heard->system() == "leaf-03.site");
  CHECK(heard->frame_bytes == 9216);
  CHECK(heard->dcb.pfc == 8U);
  REQUIRE(heard->dcb.rules.size() == 1);
  CHECK(heard->dcb.rules[0].selector == 5);
  CHECK(heard->dcb.rules[0].priority == 3);
  CHECK(heard->dcb.rules[0].value == 26);
  CHECK_FALSE(decode_lldp(ids + part(3, std::string("\0\0", 2)) + rest).has_value());
  CHECK_FALSE(decode_lldp(frame.substr(0, 12)).has_value());
  for (size_t cut = 0; cut < frame.size(); ++cut) decode_lldp(frame.substr(0, cut));
}

TEST_CASE("neighbours as lldpd tells them") {
  const auto heard = read_lldpd_json(R"({"lldp": [{"interface": [
    {"name": "eth0", "via": "LLDP",
     "chassis": [{"id": [{"type": "mac", "value": "00:11"}], "name": [{"value": "leaf-0"}]}],
     "port": [{"id": [{"type": "ifname", "value": "Ethernet4"}], "descr": [{"value": "etp2"}],
               "mfs": [{"value": "9216"}]}]},
    {"name": "eth1", "chassis": [{}], "port": [{}]}, {"name": 7}, 3]}]})",
                                     "n.json");
  REQUIRE(heard.size() == 1);
  CHECK(heard.at("eth0").system() == "leaf-0");
  CHECK(heard.at("eth0").port == "Ethernet4");
  CHECK(heard.at("eth0").description == "etp2");
  CHECK(heard.at("eth0").frame_bytes == 9216);
  CHECK(read_lldpd_json(R"({"lldp": [{}]})", "n.json").empty());
  CHECK_THROWS_AS(read_lldpd_json("[]", "n.json"), UsageError);
  CHECK_THROWS_AS(read_lldpd_json("{", "n.json"), UsageError);
}

// One neighbour of lldpd 1.0.16, captured by ci/lldpd_capture.sh: its frame, and what lldpcli says
// of it.
TEST_CASE("a frame of lldpd is the neighbour that lldpd's own file tells") {
  const char* source = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(source != nullptr,
                  "set CLUSTERBENCH_SOURCE_DIR to the source tree, as ctest does");
  const std::string directory = std::string(source) + "/tests/data/lldpd/";
  const std::string hex = read_file(directory + "frame.hex");
  std::string frame;
  for (size_t at = 0; at + 1 < hex.size() && hex[at] != '\n'; at += 2)
    frame.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  const auto heard = decode_lldp(std::string_view(frame).substr(14));  // behind the Ethernet header
  REQUIRE(heard.has_value());
  const auto told = read_lldpd_json(read_file(directory + "neighbours.json"), "n.json");
  REQUIRE(told.size() == 1);
  const LldpNeighbour& same = told.at("eth2");
  CHECK(heard->chassis == "02:00:00:00:00:77");
  CHECK(heard->port == "Ethernet1/7");
  CHECK(heard->description == "to n1 eth2");
  CHECK(heard->name == "leaf-3");
  CHECK_FALSE(heard->frame_bytes.has_value());  // lldpd says nothing of it for a veth
  CHECK(same.chassis == heard->chassis);
  CHECK(same.port == heard->port);
  CHECK(same.description == heard->description);
  CHECK(same.name == heard->name);
  CHECK(same.frame_bytes == heard->frame_bytes);
}

TEST_CASE("hosts as they shall be give no finding, and every kind is judged") {
  const RoceAudit audit = audit_roce(good_hosts(), {});
  CHECK(kinds(audit).empty());
  CHECK(audit.notes.empty());
  CHECK(audit.lossless == 3);
  for (const std::string& kind : roce_kinds()) CHECK_MESSAGE(audit.judged.contains(kind), kind);
}

TEST_CASE("each wrong setting is found as what it is, and nothing else") {
  struct Planted {
    const char* kind;
    std::function<void(RoceNic&, RoceHost&)> plant;
  };
  const Planted all[] = {
      {"pfc",
       [](RoceNic& n, RoceHost&) {
         n.dcb->pfc = 0x18;
         n.neighbour->dcb.pfc = 0x18;
       }},
      {"trust",
       [](RoceNic& n, RoceHost&) {
         n.trust = "pcp";
         n.dcb->pfc = 8;
         n.forced_class = {};
       }},
      {"traffic", [](RoceNic& n, RoceHost&) { n.forced_class = 0; }},
      {"traffic", [](RoceNic& n, RoceHost&) { n.connection_tos = 32; }},
      {"ets", [](RoceNic& n, RoceHost&) { (*n.dcb->class_of_priority)[0] = 3; }},
      {"ets", [](RoceNic& n, RoceHost&) { n.dcb->bandwidth[3] = 49; }},
      {"ecn", [](RoceNic& n, RoceHost&) { n.ecn->reacts = 0; }},
      {"ecn", [](RoceNic& n, RoceHost&) { n.ecn->notifies = 0xf7; }},
      {"cnp", [](RoceNic& n, RoceHost&) { n.cnp_dscp = 26; }},
      {"cnp", [](RoceNic& n, RoceHost&) { n.cnp_dscp = 46; }},
      {"pause", [](RoceNic& n, RoceHost&) { n.pause->receive = true; }},
      {"mtu", [](RoceNic& n, RoceHost&) { n.mtu_bytes = 4199; }},
      {"mtu", [](RoceNic& n, RoceHost&) { n.mtu_bytes = 8999; }},
      {"mtu", [](RoceNic& n, RoceHost&) { n.rdma_mtu_bytes = 2048; }},
      {"switch_mtu", [](RoceNic& n, RoceHost&) { n.neighbour->frame_bytes = 9017; }},
      {"switch_pfc", [](RoceNic& n, RoceHost&) { n.neighbour->dcb.pfc = 16; }},
      {"gid",
       [](RoceNic& n, RoceHost&) {
         n.gids = {{0, false, false}};
       }},
      {"gid", [](RoceNic& n, RoceHost&) {
         n.gids = {{5, true, true}};
       }}};
  for (const Planted& planted : all) {
    CAPTURE(planted.kind);
    auto hosts = good_hosts();
    planted.plant(hosts[1].nics[0], hosts[1]);
    const std::string found = kinds(audit_roce(hosts, {}));
    const std::string expected = std::string("n2 mlx5_0 ") + planted.kind + "\n";
    // Untrusted DSCP also means that the traffic is in the wrong priority.
    if (std::string(planted.kind) == "trust")
      CHECK(found == expected + "n2 mlx5_0 traffic\n");
    else
      CHECK(found == expected);
  }
}

TEST_CASE("limits from both sides: MTU, share, frames of the switch") {
  auto hosts = good_hosts();
  for (RoceHost& host : hosts) {
    for (RoceNic& n : host.nics) n.mtu_bytes = 4200;
  }
  hosts[0].nics[0].neighbour->frame_bytes = 4218;
  CHECK(kinds(audit_roce(hosts, {})).empty());
  hosts[0].nics[0].neighbour->frame_bytes = 4217;
  CHECK(kinds(audit_roce(hosts, {})) == "n1 mlx5_0 switch_mtu\n");
  CHECK(kinds(audit_roce(good_hosts(), {.least_share = 51})).find("n2 mlx5_1 ets") !=
        std::string::npos);
}

TEST_CASE("what applications send counts: NCCL's class, the one that was given, and none") {
  auto hosts = good_hosts();
  hosts[0].nccl_class = {};
  CHECK(kinds(audit_roce(hosts, {})) == "n1 mlx5_0 traffic\nn1 mlx5_1 traffic\n");
  const RoceAudit audit = audit_roce(hosts, {});
  CHECK(audit.findings[0].what.text().find("export NCCL_IB_TC=106") != std::string::npos);
  CHECK(kinds(audit_roce(hosts, {.traffic_class = 106})).empty());
  hosts[0].nccl_class = 106;
  hosts[1].nccl_gid = 2;  // RoCE v1
  CHECK(kinds(audit_roce(hosts, {})) == "n2 mlx5_0 gid\nn2 mlx5_1 gid\n");
}

TEST_CASE("several ports in one network: ARP, filter and source rules") {
  auto hosts = good_hosts();
  for (RoceNic& n : hosts[0].nics) n.address &= 0xffff00ffU;
  hosts[0].nics[1].address += 1;
  CHECK(kinds(audit_roce(hosts, {})) ==
        "n1 mlx5_0 arp\nn1 mlx5_1 arp\nn1 mlx5_0 source_rule\nn1 mlx5_1 source_rule\n");
  for (RoceNic& n : hosts[0].nics) {
    n.arp_ignore = 1;
    n.arp_announce = 2;
    hosts[0].rules->push_back({n.address, 32, 1000});
  }
  CHECK(kinds(audit_roce(hosts, {})).empty());
  hosts[0].rules->back().table = 254;  // the main table is every port's
  CHECK(kinds(audit_roce(hosts, {})) == "n1 mlx5_1 source_rule\n");
  hosts[0].rules = {};
  CHECK_FALSE(audit_roce(hosts, {}).judged.contains("source_rule"));
  hosts = good_hosts();
  hosts[1].nics[1].reverse_filter = 1;
  CHECK(kinds(audit_roce(hosts, {})) == "n2 mlx5_1 rp_filter\n");
  hosts[1].nics[1].reverse_filter = 2;
  CHECK(kinds(audit_roce(hosts, {})).empty());
}

TEST_CASE("what a port does not tell passes nothing, and is said with its reason") {
  auto hosts = good_hosts();
  hosts[0].nics[1].ecn = {};
  hosts[0].nics[1].unread["ecn"] = "no files";
  const RoceAudit audit = audit_roce(hosts, {});
  CHECK(kinds(audit).empty());
  CHECK_FALSE(audit.judged.contains("ecn"));
  CHECK(audit.judged.contains("pfc"));
  REQUIRE(audit.notes.size() == 1);
  CHECK(audit.notes[0].text() ==
        "ecn is not judged: 1 of 4 ports do not tell it, the first is n1 mlx5_1: no files");
}

TEST_CASE("cables against the plan: each kind is one finding") {
  const auto hosts_and = [](const std::function<void(std::vector<RoceHost>&)>& plant) {
    auto hosts = good_hosts();
    plant(hosts);
    RoceAudit audit;
    audit_cables(hosts,
                 read_port_plan("Host,NIC,Switch,Switch_Port\nN1.site,mlx5_0,leaf-0,ethernetn10\n"
                                "n1,eth1,LEAF-0,Ethernetn11\nn2,mlx5_0,leaf-0,Ethernetn20\n"
                                "n2,mlx5_1,leaf-0,Ethernetn21\n",
                                "p.csv"),
                 audit);
    return audit;
  };
  CHECK(kinds(hosts_and([](auto&) {})).empty());
  CHECK(hosts_and([](auto&) {}).judged.size() == cable_kinds().size());
  CHECK(kinds(hosts_and([](auto& h) {
          std::swap(h[0].nics[0].neighbour, h[1].nics[1].neighbour);
        })) == "n1 mlx5_0 swapped\n");
  CHECK(kinds(hosts_and([](auto& h) {
          std::swap(h[0].nics[0].neighbour, h[1].nics[1].neighbour);
          std::swap(h[0].nics[0].neighbour, h[0].nics[1].neighbour);
        })) == "n1 mlx5_0 rotated\n");
  CHECK(kinds(hosts_and([](auto& h) { h[1].nics[0].neighbour->port = "Ethernet99"; })) ==
        "n2 mlx5_0 moved\n");
  CHECK(kinds(hosts_and([](auto& h) { h[1].nics.push_back(nic("n2", 2)); })) ==
        "n2 mlx5_2 surplus\n");
  CHECK(kinds(hosts_and([](auto& h) { h[1].nics.pop_back(); })) == "n2 mlx5_0 missing\n");
  const RoceAudit silent = hosts_and([](auto& h) { h[0].nics[0].neighbour = {}; });
  CHECK(kinds(silent).empty());
  CHECK(silent.judged.empty());
  CHECK(silent.notes.size() == 1);
  CHECK_THROWS_AS(read_port_plan("host,nic,switch\na,b,c\n", "p"), UsageError);
  CHECK_THROWS_AS(read_port_plan("host,nic,switch,switch_port\na,b,c,1\na,b,c,2\n", "p"),
                  UsageError);
}

TEST_CASE("a host goes between ranks as text and comes back the same") {
  const RoceHost before = good_hosts()[0];
  const RoceHost after = roce_host_from_text(roce_host_text(before));
  CHECK(roce_host_text(after) == roce_host_text(before));
  CHECK(kinds(audit_roce({after}, {})).empty());
  CHECK(after.nics[0].neighbour->frame_bytes == 9216);
}

TEST_CASE("a host without ports leaves all kinds unjudged, and is named") {
  auto hosts = good_hosts();
  hosts.push_back({.host = "n3"});
  const RoceAudit audit = audit_roce(hosts, {});
  CHECK(audit.findings.empty());
  CHECK(audit.judged.empty());
  REQUIRE(audit.notes.size() == 1);
  CHECK(audit.notes[0].text().find("1 of 3 hosts have no active RoCE port, the first is n3") == 0);
}

TEST_CASE(
    "leaf.1 and leaf.2 are two switches, a name with its domain is one, addresses are whole") {
  const auto heard = [](const std::string& plan, const std::string& system) {
    auto hosts = good_hosts();
    hosts.resize(1);
    hosts[0].nics.resize(1);
    hosts[0].host = hosts[0].nics[0].host = "10.0.0.1";
    hosts[0].nics[0].neighbour->name = system;
    hosts[0].nics[0].neighbour->port = "e1";
    RoceAudit audit;
    audit_cables(hosts,
                 read_port_plan("host,nic,switch,switch_port\n10.0.0.1,mlx5_0," + plan +
                                    ",e1\n10.0.0.2,mlx5_0,other,e9\n",
                                "p"),
                 audit);
    return kinds(audit);
  };
  CHECK(heard("leaf.1", "leaf.1").empty());
  CHECK(heard("leaf.1", "leaf.2") == "10.0.0.1 mlx5_0 moved\n");
  CHECK(heard("leaf-1", "leaf-1.example.org").empty());
  CHECK(heard("leaf-1.example.org", "LEAF-1").empty());
  CHECK(heard("10.1.0.1", "10.1.0.2") == "10.0.0.1 mlx5_0 moved\n");
  CHECK_THROWS_AS(read_port_plan("host,nic,switch,switch_port\nn1,a,s,1\nn1.x,a,s,2\n", "p"),
                  UsageError);
}
