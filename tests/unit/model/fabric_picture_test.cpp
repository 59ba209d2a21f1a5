// The layout of a subnet and its picture: 16 hosts byte for byte (CLUSTERBENCH_REGENERATE=1 writes
// the files anew), larger ones by what must be in them.
#include "model/fabric/picture.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/file.h"
#include "core/result.h"
#include "fabric_nets.h"
#include "model/leaf_map.h"

using namespace cb;

namespace {

struct Looked {
  Net net;
  NetShape shape;
  std::vector<NetFinding> findings;

  FabricLayout layout() const { return layout_of(net, shape, findings); }
};

Looked look(WiredNet wired, const std::string& plan = "") {
  Looked out;
  out.net = read_ibnetdiscover(wired.text(), "net");
  out.shape = shape_of(out.net);
  out.findings = irregularities(out.net, out.shape);
  if (plan.empty()) return out;
  for (NetFinding& f : against_plan(out.net, read_cabling(plan, "plan")).findings)
    out.findings.push_back(std::move(f));
  return out;
}

// Two cables exchanged, a link with half of its lanes, one that is missing.
Looked sixteen_hosts() {
  WiredNet wired = WiredNet::rails(16, 8, 4);
  const std::string plan = wired.plan();
  std::swap(wired.at("leaf-2", 3).b, wired.at("leaf-5", 3).b);
  wired.at("leaf-6", 18).rate = "2xNDR";
  const Wire gone = wired.at("leaf-1", 20);
  std::erase_if(wired.wires,
                [&](const Wire& w) { return w.a.id == gone.a.id && w.a.port == gone.a.port; });
  return look(wired, plan);
}

FabricPicture picture_of(const Looked& looked, Lang lang = Lang::en) {
  FabricPicture out{.layout = looked.layout(), .marks = {}, .lang = lang};
  out.marks.assign(out.layout.findings.size(), PictureMark::fail);
  return out;
}

void compare_golden(const std::string& name, const std::string& text) {
  const char* dir = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(dir != nullptr, "set CLUSTERBENCH_SOURCE_DIR to the source tree, as ctest does");
  const auto file = std::filesystem::path(dir) / "tests" / "golden" / name;
  const char* regenerate = std::getenv("CLUSTERBENCH_REGENERATE");
  if (regenerate != nullptr && std::string(regenerate) == "1") write_file_atomically(file, text);
  const bool same = read_file(file) == text;
  CHECK_MESSAGE(same, name, " differs from what is drawn: look at it, then regenerate");
}

size_t count_of(const std::string& text, const std::string& what) {
  size_t out = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

const LayoutFinding& finding_of_kind(const FabricLayout& layout, const std::string& kind) {
  for (const LayoutFinding& f : layout.findings) {
    if (f.kind == kind) return f;
  }
  throw kind;
}

std::string place_text(const FabricLayout& layout, const LayoutPlace& p) {
  std::string out = p.absent ? "absent " : "";
  if (p.from) out += layout.switches[*p.from].name;
  if (p.to) out += " " + layout.switches[*p.to].name;
  return p.host.empty() ? out : out + " " + p.host;
}

std::set<std::string> places_of(const FabricLayout& layout, const std::string& kind) {
  std::set<std::string> out;
  for (const LayoutPlace& p : finding_of_kind(layout, kind).places)
    out.insert(place_text(layout, p));
  return out;
}

// One host and one spine, a leaf a rail; GUIDs of WiredNet::rails() have room for 16 rails.
WiredNet many_rails(int rails) {
  WiredNet out;
  out.nodes.push_back({"S-0000000000000001", "spine", 64, 1});
  for (int r = 0; r < rails; ++r) {
    const std::string leaf = fmt::format("S-{:016x}", 0x100 + r);
    const std::string adapter = fmt::format("H-{:016x}", 0x200 + r);
    out.nodes.push_back({leaf, fmt::format("leaf-{}", r), 64, 2 + 2 * r});
    out.nodes.push_back({adapter, fmt::format("host mlx5_{}", r), 1, 3 + 2 * r});
    out.wires.push_back({{leaf, 1}, {adapter, 1}});
    out.wires.push_back({{leaf, 2}, {"S-0000000000000001", r + 1}});
  }
  return out;
}

// Three tiers: `pods` of eight leaves, one a rail, and eight spines; one core on every spine.
WiredNet three_tiers(int pods, int hosts_of_a_pod) {
  WiredNet out;
  int lid = 0;
  const auto id = [](char kind, int a, int b) {
    return fmt::format("{}-{:016x}", kind, (a << 12) + b + 0x1000000);
  };
  for (int c = 0; c < 8; ++c)
    out.nodes.push_back({id('S', 0, c), fmt::format("core-{}", c), 64, ++lid});
  for (int p = 0; p < pods; ++p) {
    for (int s = 0; s < 8; ++s) {
      out.nodes.push_back({id('S', p + 1, 100 + s), fmt::format("spine-{}-{}", p, s), 64, ++lid});
      out.wires.push_back({{id('S', p + 1, 100 + s), 60}, {id('S', 0, s), p + 1}});
    }
    for (int r = 0; r < 8; ++r) {
      const std::string leaf = id('S', p + 1, r);
      out.nodes.push_back({leaf, fmt::format("leaf-{}-{}", p, r), 64, ++lid});
      for (int s = 0; s < 8; ++s)
        out.wires.push_back({{leaf, 40 + s}, {id('S', p + 1, 100 + s), r + 1}});
      for (int h = 0; h < hosts_of_a_pod; ++h) {
        const std::string adapter = fmt::format("H-{:016x}", ((p + 1) << 16) + h * 16 + r);
        out.nodes.push_back(
            {adapter, fmt::format("host{:04} mlx5_{}", p * hosts_of_a_pod + h, r), 1, ++lid});
        out.wires.push_back({{leaf, h + 1}, {adapter, 1}});
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the picture of 16 hosts is byte for byte the golden one, in both languages") {
  const Looked looked = sixteen_hosts();
  compare_golden("fabric-16.en.svg", fabric_svg_file(picture_of(looked)));
  compare_golden("fabric-16.zh.svg", fabric_svg_file(picture_of(looked, Lang::zh)));
}

TEST_CASE("findings stand at the switches, links and adapters that they name") {
  const FabricLayout layout = sixteen_hosts().layout();
  CHECK(places_of(layout, "swapped") ==
        std::set<std::string>{"leaf-2 host02 mlx5_5", "leaf-5 host02 mlx5_2",
                              "absent leaf-2 host02 mlx5_2", "absent leaf-5 host02 mlx5_5"});
  CHECK(places_of(layout, "missing") == std::set<std::string>{"absent leaf-1 spine-3"});
  CHECK(places_of(layout, "link_rate") == std::set<std::string>{"leaf-6 spine-1"});
}

TEST_CASE("a link at other ports is a warning, for it carries the same") {
  Looked looked = look(WiredNet::rails(16, 8, 4));
  looked.findings.push_back({kOtherPorts, "leaf-0 port 17 – spine-0 port 9", {}});
  const FabricLayout layout = looked.layout();
  CHECK(places_of(layout, kOtherPorts) == std::set<std::string>{"leaf-0 spine-0"});
  CHECK(usual_mark(layout.findings.front()) == PictureMark::warn);
  CHECK(usual_mark({"missing", "", {}}) == PictureMark::fail);
}

TEST_CASE("a few switches stand alone, many are grouped by rail or by pod") {
  const FabricLayout small = look(WiredNet::rails(16, 8, 4)).layout();
  CHECK(small.switches.size() == 12);
  CHECK(small.groups.size() == 12);
  CHECK(small.bundles.size() == 32);
  CHECK(small.adapters == 128);
  CHECK(small.hosts == 16);
  // 16 leaves of two adapters: grouped by their 16 rails, four spines apart.
  const FabricLayout rails = look(WiredNet::rails(2, 16, 4)).layout();
  CHECK(rails.groups.size() == 20);
  CHECK(rails.groups.front().rail == "mlx5_0");
  // 21 rails are too many boxes.
  CHECK(look(many_rails(21)).layout().groups.size() == 1 + 1);

  const FabricLayout pods = look(three_tiers(5, 2)).layout();
  REQUIRE(pods.tiers == 3);
  // 40 leaves: five pods, as 40 pairs of pod and rail are too many; so are the spines; eight cores.
  CHECK(pods.groups.size() == 5 + 5 + 8);
  CHECK(pods.groups.front().pod == 1);
  CHECK(pods.switches.front().name == "leaf-0-0");
  CHECK(pods.bundles.size() == 5 + 5 * 8);
  CHECK(pods.bundles.front().links == 64);
  // 21 pods share 11 boxes.
  const FabricLayout shared = look(three_tiers(21, 1)).layout();
  CHECK(shared.groups.size() == 11 + 11 + 8);
  CHECK(shared.groups.front().last_pod == 2);
}

TEST_CASE("a layout is read as it was written, and nothing else is") {
  const FabricLayout layout = sixteen_hosts().layout();
  const std::string text = layout_text(layout);
  const auto again = parse_layout(text);
  REQUIRE(again.has_value());
  CHECK(layout_text(*again) == text);
  CHECK(again->findings.size() == layout.findings.size());
  CHECK_FALSE(parse_layout("").has_value());
  CHECK_FALSE(parse_layout("[]").has_value());
  CHECK_FALSE(parse_layout(R"({"version":2})").has_value());
  CHECK_FALSE(parse_layout(text.substr(0, text.size() / 2)).has_value());
  // A group that is not there.
  const char* dangling = R"({"version":1,"tiers":1,"hosts":1,"adapters":1,"links":1,"groups":[],)"
                         R"("switches":[["leaf",0,{}]],"bundles":[],"findings":[],"left_out":0})";
  CHECK_FALSE(parse_layout(dangling).has_value());
}

TEST_CASE("the map of leaves: as lines and from the record") {
  const FabricLayout layout = look(WiredNet::rails(2, 2, 1)).layout();
  const std::string lines = leaf_map_text(layout);
  CHECK(lines ==
        "# HOST NIC LEAF, written by clusterbench fabric --leaf-map-out\n"
        "host00 mlx5_0 leaf-0\nhost00 mlx5_1 leaf-1\nhost01 mlx5_0 leaf-0\nhost01 mlx5_1 leaf-1\n");
  Record record{.case_name = "fabric"};
  record.facts[kLayoutFact] = layout_text(layout);
  Document document;
  document.records.push_back(record);
  for (const std::string& text : {lines, to_json_text(document)}) {
    Problems problems;
    const NicLeaves leaves = nic_leaves(text, {"host00", "host01"}, {"mlx5_0", "mlx5_1"}, problems);
    CHECK(problems.text() == "");
    REQUIRE(leaves.leaf.size() == 4);
    CHECK(leaves.names[static_cast<size_t>(leaves.leaf[0])] == "leaf-0");
    CHECK(leaves.names[static_cast<size_t>(leaves.leaf[3])] == "leaf-1");
    CHECK(parse_leaf_map(text, problems).at("host01") == "leaf-0");
  }
  Problems none;
  parse_leaf_map(to_json_text(Document{}), none);
  CHECK(none.text().find("without a subnet") != std::string::npos);
  Problems broken;
  parse_leaf_map("{\"schema\":", broken);
  CHECK_FALSE(broken.empty());
}

TEST_CASE("marks have shapes and words of their own") {
  FabricPicture picture = picture_of(sixteen_hosts());
  REQUIRE(picture.marks.size() == 5);  // the exchanged adapters are also on the wrong rail
  picture.marks = {PictureMark::waived, PictureMark::warn, PictureMark::fail, PictureMark::fail,
                   PictureMark::fail};
  const std::string svg = draw_fabric(picture, "f1", "t", "d");
  CHECK(count_of(svg, "fx-badge fx-fail") >= 2);
  CHECK(count_of(svg, "fx-badge fx-warn") >= 2);
  CHECK(count_of(svg, "fx-badge fx-waived") >= 2);
  // The worst is number one of the key.
  const size_t key = svg.find("fail · ");
  CHECK(key < svg.find("warning · "));
  CHECK(svg.find("warning · ") < svg.find("waived · "));
  CHECK(svg.find("<script") == std::string::npos);
}

TEST_CASE("many findings: each kind keeps its place, the rest is counted") {
  Looked looked = look(WiredNet::rails(16, 8, 4));
  for (int i = 0; i < 600; ++i)
    looked.findings.push_back({"errors", "leaf-0 port 1", said("fabric.surplus")});
  looked.findings.push_back({"manager", "", said("fabric.surplus")});
  looked.findings.push_back({"alarm", "nowhere", said("fabric.surplus")});
  const FabricLayout layout = looked.layout();
  CHECK(layout.findings.size() == kLayoutFindings);
  CHECK(layout.findings_left_out == 602 - kLayoutFindings);
  CHECK(finding_of_kind(layout, "alarm").places.empty());
  const std::string svg = draw_fabric(picture_of(looked), "f1", "t", "d");
  CHECK(svg.find("and 590 more findings") != std::string::npos);
  CHECK(svg.size() < 100'000);
}

TEST_CASE("1,280 hosts of eight adapters: at most 300 kB") {
  Looked looked = look(three_tiers(40, 32));
  REQUIRE(looked.shape.adapters == 10240);
  const std::string svg = fabric_svg_file(picture_of(looked));
  CHECK(svg.size() < 300'000);
  CHECK(svg.find("10240 adapters") != std::string::npos);
}

TEST_CASE("switches of one name stay apart in picture, document and leaf map") {
  Looked looked = sixteen_hosts();
  size_t switches = 0;
  for (NetNode& node : looked.net.nodes) {
    if (node.kind != NetNodeKind::network_switch) continue;
    node.name = "Factory name";
    ++switches;
  }
  std::set<std::string> names;
  for (const LayoutSwitch& s : looked.layout().switches) names.insert(s.name);
  CHECK(names.size() == switches);
  // Each of a host's eight adapters is on its own leaf, by the map as by the subnet.
  std::vector<std::string> nics;
  for (int i = 0; i < 8; ++i) nics.push_back("mlx5_" + std::to_string(i));
  Problems problems;
  const NicLeaves own = nic_leaves(leaf_map_text(looked.layout()), {"host00"}, nics, problems);
  CHECK(problems.empty());
  CHECK(own.names.size() == 8);
}

TEST_CASE("a leaf map has words that a terminal and its reader take as they are") {
  FabricLayout layout;
  layout.groups.push_back({});
  layout.switches = {{"leaf 1", 0, {{"mlx5_0", {"n1"}}}},
                     {"leaf_1", 0, {{"mlx5_0", {"n2"}}}},
                     {"#top", 0, {{"mlx5\x1b[2J", {"n\x1b]0;x\x07"}}}}};
  const std::string text = leaf_map_text(layout);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  Problems problems;
  const LeafMap map = parse_leaf_map(text, problems);
  CHECK(problems.empty());
  CHECK(map == LeafMap{{"n1", "leaf_1"}, {"n2", "leaf_1~2"}, {"n?]0;x?", "_top"}});
}

TEST_CASE("a document of an earlier build with two switches of one name has two leaves") {
  FabricLayout layout;
  layout.groups.push_back({});
  layout.switches = {{"X", 0, {{"mlx5_0", {"n1"}}}}, {"X", 0, {{"mlx5_0", {"n2"}}}}};
  Document document;
  Record record{.case_name = "fabric", .params = {}};
  record.facts[kLayoutFact] = layout_text(layout);
  document.records.push_back(std::move(record));
  Problems problems;
  const LeafMap map = parse_leaf_map(to_json_text(document), problems);
  CHECK(problems.empty());
  CHECK(map == LeafMap{{"n1", "X"}, {"n2", "X (2)"}});
}
