// Files of other tools: composed from one wired net, each must tell the same; and what is cut off
// or foreign is refused with its place.
#include <functional>
#include <set>

#include <doctest/doctest.h>

#include "core/error.h"
#include "fabric_nets.h"
#include "model/fabric/findings.h"
#include "model/fabric/readers.h"
#include "model/fabric/routes.h"
#include "model/fabric/write.h"

using namespace cb;

namespace {

using Names = std::multiset<std::string>;

Names kinds_of(const Net& net) {
  const NetShape shape = shape_of(net);
  Names out;
  for (const auto& findings : {irregularities(net, shape), state_findings(net, shape),
                               counter_findings(net), follow_routes(net, shape).findings}) {
    for (const NetFinding& f : findings) out.insert(f.kind + ": " + f.part);
  }
  return out;
}

std::string guid_of(const std::string& id) { return "0x" + id.substr(2); }

// What ibdiagnet would write of it: HDR is 4 in the second byte, 4x is 2, MTU 4096 is 5.
std::string db_csv(const WiredNet& net) {
  std::string out =
      "# a comment\nSTART_NODES\nNodeDesc,NumPorts,NodeType,SystemImageGUID,NodeGUID,"
      "PortGUID,DeviceID,VendorID\n";
  std::string ports =
      "START_PORTS\nNodeGuid,PortGuid,PortNum,MSMLID,LID,CapMsk,LinkWidthActv,"
      "LinkWidthSup,LinkWidthEn,LinkSpeedEn,LinkSpeedActv,LMC,PortPhyState,"
      "PortState,LinkSpeedSup,NMTU,MTUCap\n";
  std::string links = "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n";
  std::string counters =
      "START_PM_INFO\nNodeGUID,PortGUID,PortNumber,SymbolErrorCounter,"
      "PortRcvData,PortRcvDataExtended\n";
  WiredNet& all = const_cast<WiredNet&>(net);
  for (const WiredNode& n : net.nodes) {
    const std::string guid = guid_of(n.id);
    out += fmt::format("\"{}\",{},{},{},{},{},53746,713\n", n.name, n.ports, n.is_switch() ? 2 : 1,
                       guid, guid, guid);
    if (n.is_switch())
      ports += fmt::format("{},{},0,1,{},0,0,0,0,0,0,0,0,0,0,0,0\n", guid, guid, n.lid);
  }
  for (const Wire& w : net.wires) {
    links += fmt::format("{},{},{},{}\n", guid_of(w.a.id), w.a.port, guid_of(w.b.id), w.b.port);
    const int width = w.rate.starts_with('4') ? 2 : 1;
    const int speed = w.rate.ends_with("NDR") ? 2048 : 1024;
    for (const WiredEnd* end : {&w.a, &w.b}) {
      const std::string guid = guid_of(end->id);
      ports += fmt::format("{},{},{},1,{},0,{},3,3,3841,{},0,5,4,3841,5,5\n", guid, guid, end->port,
                           all.node(end->id).lid, width, speed);
      counters += fmt::format("{},{},{},0,4294967295,0x100000000\n", guid, guid, end->port);
    }
  }
  return out + "END_NODES\n\n" + ports + "END_PORTS\n\n" + links + "END_LINKS\n\n" + counters +
         "END_PM_INFO\n\nSTART_NODES_INFO\nNodeGUID,FWInfo_Extended_Major,FWInfo_Extended_Minor,"
         "FWInfo_Extended_SubMinor\n" +
         guid_of(net.nodes[0].id) +
         ",0x1c,39,1002\nEND_NODES_INFO\n\nSTART_SM_INFO\nNodeGUID,"
         "PortGUID,PortNumber,SmState,Priority\n" +
         guid_of(net.nodes[0].id) + "," + guid_of(net.nodes[0].id) + ",0,3,14\nEND_SM_INFO\n";
}

std::string ufm_links(WiredNet& net) {
  std::string out;
  for (const Wire& w : net.wires) {
    const WiredNode &a = net.node(w.a.id), &b = net.node(w.b.id);
    out += fmt::format(
        R"({}{{"source_guid":"{}","source_port":"{}","source_port_dname":"{}","source_port_node_description":"{}:{}",)"
        R"("destination_guid":"{}","destination_port":{},"destination_port_dname":"{}","destination_port_node_description":"{}","width":"4x"}})",
        out.empty() ? "[" : ",\n", a.id.substr(2), w.a.port, w.a.port, a.name, w.a.port,
        b.id.substr(2), w.b.port, b.is_switch() ? "1" : "HCA-1/1",
        b.is_switch() ? b.name + ":1" : b.name);
  }
  return out + "]";
}

std::string ufm_ports(WiredNet& net) {
  std::string out;
  for (const Wire& w : net.wires) {
    for (const WiredEnd* end : {&w.a, &w.b}) {
      const WiredNode& n = net.node(end->id);
      out += fmt::format(
          R"({}{{"guid":"{}","number":{},"description":"{}","node_description":"N/A","lid":{},"mtu":4096,)"
          R"("physical_state":"Link Up","logical_state":"Active","active_speed":"{}","active_width":"{}",)"
          R"("supported_speed":["SDR","HDR","NDR"],"supported_width":["1x","4x"],"enabled_speed":["SDR","HDR","NDR"],"enabled_width":["1x","4x"]}})",
          out.empty() ? "[" : ",\n", n.id.substr(2), end->port,
          n.is_switch() ? "Switch IB Port" : "Computer IB Port", n.lid, w.rate.substr(2),
          w.rate.substr(0, 2));
    }
  }
  return out + "]";
}

std::string reader_refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

const char* const kInfo = R"(CA: host00 mlx5_0:
      0x0000000000010001      5    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       2    1[  ] "leaf-0" ( )
CA: host01 mlx5_0:
      0x0000000000010011      6    1[  ] ==( 1X        53.125 Gbps Active/  LinkUp)==>       2    2[  ] "leaf-0" (Could be 4X )
Switch: 0x000000000000f000 leaf-0:
           2    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       5    1[  ] "host00 mlx5_0" ( )
           2    2[  ] ==( 1X        53.125 Gbps Active/  LinkUp)==>       6    1[  ] "host01 mlx5_0" (Could be 4X )
           2    3[  ] ==(                Down/ Polling)==>             [  ] "" ( )
)";

}  // namespace

TEST_CASE("what ibdiagnet writes has the same links, and what it knows beyond") {
  WiredNet wired = WiredNet::rails(4, 2, 2);
  const Net net = read_subnet(db_csv(wired), "db_csv");
  CHECK(net.links.size() == wired.wires.size());
  CHECK(net.links.front().rate->text == "4xNDR");
  CHECK(net.links.front().could->text == "4xNDR");
  CHECK(net.nodes[0].firmware == "28.39.1002");
  CHECK(net.managers.size() == 1);
  CHECK(net.managers[0].state == 3);
  CHECK(net.ports.begin()->second.manager_lid == 1);
  CHECK(net.knows.counters);
  CHECK_FALSE(net.knows.tables);
  bool counted = false;
  for (const auto& [end, port] : net.ports) {
    if (!port.counts.empty()) counted = port.counts.at("PortRcvData") == uint64_t{1} << 32U;
  }
  CHECK(counted);  // the wider counter
  const Names names = kinds_of(net);
  CHECK_MESSAGE(names.empty(), *names.begin());
}

TEST_CASE("a narrow link has the same name in every kind of file") {
  WiredNet wired = WiredNet::rails(4, 2, 2);
  wired.at("leaf-1", 3).rate = "1xNDR";
  const Names one{"link_rate: leaf-1 port 3 – host02 mlx5_1 port 1"};
  CHECK(kinds_of(read_subnet(wired.text(), "net.txt")) == one);
  CHECK(kinds_of(read_subnet(db_csv(wired), "db_csv")) == one);
  const Net ufm =
      join_nets({read_subnet(ufm_links(wired), "links"), read_subnet(ufm_ports(wired), "ports")});
  CHECK(ufm.links.size() == wired.wires.size());
  const Names by_ufm = kinds_of(ufm);
  REQUIRE(by_ufm.size() == 1);
  CHECK(by_ufm.begin()->starts_with("link_rate: "));
  CHECK(by_ufm.begin()->find("leaf-1 port 3") != std::string::npos);
  CHECK(by_ufm.begin()->find("host02 mlx5_1 port 1") != std::string::npos);
}

TEST_CASE("iblinkinfo: a port that could do more, and one that is down") {
  const Net net = read_subnet(kInfo, "info.txt");
  CHECK(net.nodes.size() == 3);
  CHECK(net.links.size() == 2);
  CHECK(net.one_sided.empty());
  CHECK(kinds_of(net) == Names{"link_rate: host01 mlx5_0 port 1 – leaf-0 port 2"});
  CHECK(net.lids.size() == 3);
  CHECK(reader_refusal([] {
          read_subnet("CA: x:\n nonsense ==( 4X )==> 1 1[ ] \"y\"\n", "info.txt");
        }).find("line 2") != std::string::npos);
}

TEST_CASE("ibqueryerrors: counters of ports, and who it does not name has none") {
  const char* errors =
      "Errors for 0xf000 \"leaf-0\"\n"
      "   GUID 0xf000 port ALL: [SymbolErrorCounter == 12]\n"
      "   GUID 0xf000 port 3: [SymbolErrorCounter == 12] [PortXmitWait == 5 (5.000)]\n"
      "\n## Summary: 6 nodes checked, 1 bad nodes found\n";
  const Net net = read_subnet(errors, "errors.txt");
  WiredNet wired = WiredNet::rails(4, 1, 1);
  const Net both = join_nets({net, read_subnet(wired.text(), "net.txt")});
  CHECK(both.nodes.size() == wired.nodes.size());
  CHECK(kinds_of(both) == Names{"errors: leaf-0 port 3"});
  CHECK(reader_refusal([&] {
          read_subnet(std::string(errors, 80), "errors.txt");
        }).find("cut off") != std::string::npos);
  CHECK(kinds_of(join_nets({read_subnet("\n## Summary: 6 nodes checked\n", "e"),
                            read_subnet(wired.text(), "net.txt")}))
            .empty());
}

TEST_CASE("forwarding tables join their switches") {
  WiredNet wired = WiredNet::rails(2, 1, 0);  // leaf LID 1, hosts 2 and 3
  const char* table =
      "Unicast lids [0x0-0x3] of switch DR path slid 0; dlid 0; 0,1 guid 0x000000000000f000 "
      "(leaf-0):\n  Lid  Out   Destination\n0x0001 000 : (Switch)\n0x0002 001 : (Channel Adapter)\n"
      "0x0003 002 : (Channel Adapter)\n3 valid lids dumped\n";
  const Net net = join_nets({read_subnet(wired.text(), "net.txt"), read_subnet(table, "fts.txt")});
  const RouteReport report = follow_routes(net, shape_of(net));
  CHECK(report.figures.pairs == 2);
  CHECK(report.findings.empty());
  std::string hole = table;
  hole.replace(hole.find("0x0003 002"), 10, "0x0003 009");
  const Net broken =
      join_nets({read_subnet(wired.text(), "net.txt"), read_subnet(hole, "fts.txt")});
  CHECK(follow_routes(broken, shape_of(broken)).figures.unreached == 1);
  CHECK(reader_refusal([] { read_subnet("Unicast lids of nobody\n", "fts.txt"); }).find("line 1") !=
        std::string::npos);
  CHECK(reader_refusal([&] {
          read_subnet(std::string(table) + "0xffff 001 :\n", "fts.txt");
        }).find("line 7") != std::string::npos);
}

TEST_CASE("UFM's alarms are findings, notices are not") {
  const Net net = read_subnet(
      R"([{"id":1,"severity":"Critical","object_path":"leaf-0:3","description":"Link went down"},)"
      R"({"id":2,"severity":"Info","object_path":"leaf-0:4","description":"Link is up"}])",
      "alarms.json");
  CHECK(kinds_of(net) == Names{"alarm: leaf-0:3"});
}

TEST_CASE("what is cut off or foreign is refused") {
  WiredNet wired = WiredNet::rails(4, 2, 2);
  const std::string csv = db_csv(wired);
  CHECK(reader_refusal([&] {
          read_subnet(csv.substr(0, csv.size() / 2), "db_csv");
        }).find("cut off") != std::string::npos);
  CHECK(reader_refusal([] {
          read_subnet("START_NODES\nNodeDesc\n\"a\"\nEND_NODES\n", "db_csv");
        }).find("line 3") != std::string::npos);
  const std::string json = ufm_links(wired);
  CHECK(reader_refusal([&] { read_subnet(json.substr(0, 300), "l.json"); }).find("JSON") !=
        std::string::npos);
  CHECK(reader_refusal([] { read_subnet("[{\"a\": 1}]", "x.json"); }).find("element 1") !=
        std::string::npos);
  CHECK(reader_refusal([] { read_subnet("{}", "x.json"); }).find("UFM") != std::string::npos);
  const std::string magic = "\x2b\x83\xe7\x8f";
  CHECK(reader_refusal([&] { read_subnet(magic, "cache"); }).find("cut off") != std::string::npos);
  CHECK(reader_refusal([&] {
          read_subnet(magic + std::string("\x02\0\0\0", 4), "cache");
        }).find("version 2") != std::string::npos);
}

TEST_CASE("what is written is read as the same subnet") {
  WiredNet wired = WiredNet::rails(5, 3, 2);
  const Net net = read_subnet(db_csv(wired), "db_csv");
  const Net again = read_subnet(ibnetdiscover_text(net), "own.txt");
  CHECK(again.nodes.size() == net.nodes.size());
  CHECK(again.links.size() == net.links.size());
  CHECK(again.lids.size() == net.lids.size());
  const PlanDifference difference = against_plan(again, plan_of(net));
  CHECK(difference.findings.empty());
  CHECK(difference.at_other_ports.empty());
}

TEST_CASE("a link that a finding names is red in the graph, its neighbours are not") {
  WiredNet wired = WiredNet::rails(12, 1, 1);
  const Net net = read_subnet(wired.text(), "net.txt");
  const std::string dot =
      dot_text(net, shape_of(net), {{"errors", "leaf-0 port 1", said("fabric.errors_next")}});
  CHECK(dot.find("\"host00\" -- \"leaf-0\" [label=\"1\", color=red]") != std::string::npos);
  CHECK(dot.find("\"host10\" -- \"leaf-0\" [label=\"1\"]") != std::string::npos);
}

TEST_CASE("an earlier file: what changed, is gone, is new") {
  WiredNet wired = WiredNet::rails(4, 1, 1);
  const Net before = read_subnet(wired.text(), "a.txt");
  CHECK(changes_since(before, before).empty());
  wired.at("leaf-0", 2).rate = "4xHDR";
  wired.nodes[2].name = "host77 mlx5_0";
  Names names;
  for (const NetFinding& f : changes_since(before, read_subnet(wired.text(), "b.txt")))
    names.insert(f.kind + ": " + f.part);
  CHECK(names == Names{"changed: leaf-0 port 2 – host01 mlx5_0 port 1", "gone: host00 mlx5_0",
                       "new: host77 mlx5_0"});
}

TEST_CASE("topologies and how well they fit") {
  const auto is = [](WiredNet wired) {
    const Net net = read_subnet(wired.text(), "net.txt");
    return topology_of(net, shape_of(net));
  };
  CHECK(is(WiredNet::rails(4, 3, 0)).is == NetClass::lone_switches);
  CHECK(is(WiredNet::rails(4, 3, 2)).is == NetClass::rail_optimised);
  CHECK(is(WiredNet::rails(4, 3, 2)).fits == 1);
  WiredNet mixed = WiredNet::rails(4, 2, 2);
  for (WiredNode& n : mixed.nodes) {
    if (!n.is_switch()) n.name = n.name.substr(0, 6) + " mlx5_0";
  }
  CHECK(is(mixed).is == NetClass::fat_tree);
  // Three groups of a leaf and a top switch, whose tops are joined each with each.
  WiredNet groups;
  const auto id = [](char kind, int n) { return fmt::format("{}-{:016x}", kind, n); };
  for (int g = 0; g < 3; ++g) {
    groups.nodes.push_back({id('S', 0x10 + g), fmt::format("leaf-{}", g), 8, 1 + g});
    groups.nodes.push_back({id('S', 0x20 + g), fmt::format("top-{}", g), 8, 11 + g});
    groups.nodes.push_back({id('H', 0x30 + g), fmt::format("h{} mlx5_0", g), 1, 21 + g});
    groups.wires.push_back({{id('S', 0x10 + g), 1}, {id('H', 0x30 + g), 1}});
    groups.wires.push_back({{id('S', 0x10 + g), 2}, {id('S', 0x20 + g), 1}});
    groups.wires.push_back({{id('S', 0x20 + g), 2}, {id('S', 0x20 + (g + 1) % 3), 3}});
  }
  CHECK(is(groups).is == NetClass::dragonfly);
  CHECK(is(groups).fits == 1);
  groups.wires.pop_back();
  CHECK(is(groups).is == NetClass::irregular);
}
