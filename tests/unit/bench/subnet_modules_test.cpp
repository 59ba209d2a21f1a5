// A subnet of two adapters and three switches that answers in band: whole, busy, silent, refusing,
// without a key, about other ports. Registers by images of the published layout.
#include <algorithm>
#include <deque>
#include <set>

#include <doctest/doctest.h>

#include "../model/module_page_image.h"
#include "bench/network/optics/subnet_modules.h"
#include "model/fabric/register_mad.h"

using namespace cb;
using namespace cb::net;
using cb::test::osfp_image;
using cb::test::PageImage;

namespace {

enum class SwitchMood { answers, silent, refuses, old, unmapped, keyed, another_port };

struct SimNode {
  std::string name;
  int type = 2, ports = 4;
  uint16_t lid = 0;
  std::map<int, std::pair<size_t, int>> peers = {};  // by port
  SwitchMood mood = SwitchMood::answers;
  uint32_t vendor = 0x0002c9;
  // By local port, and which of InfiniBand's it is; they differ on purpose.
  std::map<int, int> map = {};
  std::map<int, PageImage> exact = {}, coarse = {};
  int busy = 0;             // answers of this kind before the right one
  std::set<int> mute = {};  // local ports whose page does not come
  bool answers_smp = true;
};

void put(Mad& mad, size_t at, size_t bytes, uint64_t value) {
  for (size_t i = 0; i < bytes; ++i)
    mad[at + i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}

class SimSubnet : public MadWire {
 public:
  std::vector<SimNode> nodes;
  std::vector<Mad> sent;

  void send(const MadQuestion& question, const Mad& mad, int) override {
    sent.push_back(mad);
    queue_.push_back(question.of == MadClass::directed ? smp(question, mad)
                                                       : vendor(question, mad));
  }
  std::optional<MadArrival> receive(int) override {
    if (queue_.empty()) return std::nullopt;
    MadArrival out = queue_.front();
    queue_.pop_front();
    return out;
  }

 private:
  MadArrival smp(const MadQuestion& question, Mad mad) {
    size_t at = 0;
    int entry = 1;
    for (const uint8_t port : question.path) std::tie(at, entry) = nodes.at(at).peers.at(port);
    const SimNode& n = nodes[at];
    if (!n.answers_smp) return {mad, true};
    const uint64_t guid = 0x1000 + at;
    switch (question.attribute) {
      case MadAttribute::node_info:
        put(mad, 66, 1, static_cast<uint64_t>(n.type));
        put(mad, 67, 1, static_cast<uint64_t>(n.ports));
        for (const size_t place : {68, 76, 84}) put(mad, place, 8, guid);
        put(mad, 100, 1, static_cast<uint64_t>(entry));
        put(mad, 101, 3, n.vendor);
        break;
      case MadAttribute::node_description:
        std::ranges::copy(n.name, mad.begin() + 64);
        break;
      case MadAttribute::port_info:
        port_info(n, static_cast<int>(question.modifier), mad);
        break;
      default:
        break;
    }
    return {mad};
  }

  static void port_info(const SimNode& n, int port, Mad& mad) {
    if (n.type != 2 || port == 0) put(mad, 80, 2, n.lid);
    const bool up = n.peers.contains(port);
    put(mad, 96, 1, up ? 4 : 1);
    put(mad, 97, 1, up ? 0x50 : 0x20);
  }

  MadArrival vendor(const MadQuestion& question, Mad mad) {
    SimNode& n = *std::ranges::find(nodes, question.lid, &SimNode::lid);
    if (n.mood == SwitchMood::silent || (n.mood == SwitchMood::keyed && question.key != 0x77))
      return {mad, true};
    if (n.mood == SwitchMood::refuses) return refused(mad, 0x0c);
    if (question.attribute == MadAttribute::general_info) {
      if (n.mood != SwitchMood::old) mad[161] = 0x10;
      return {mad};
    }
    const int local = mad[37] | (mad[38] >> 4 & 3) << 8;
    if (!n.map.contains(local)) return refused(mad, 0x1c);
    if (question.modifier == 0x500a) {
      if (n.mood == SwitchMood::unmapped) return refused(mad, 0x14);
      mad[39] = static_cast<uint8_t>(n.map.at(local));
      return {mad};
    }
    if (n.mute.contains(local)) return {mad, true};
    if (n.busy-- > 0) return refused(mad, 1);
    const bool exact = mad[40] == 0x20;
    if (n.mood == SwitchMood::another_port) mad[37] ^= 1;
    std::ranges::copy((exact ? n.exact : n.coarse).at(local).page(), mad.begin() + 44);
    return {mad};
  }
  static MadArrival refused(Mad mad, uint8_t status) {
    mad[5] = status;
    return {mad};
  }

  std::deque<MadArrival> queue_;
};

void plug(SimNode& n, int local, int port, const std::string& serial) {
  n.map[local] = port;
  n.exact[local] = osfp_image(serial, true, static_cast<unsigned>(16 * port));
  n.coarse[local] = osfp_image(serial, false, static_cast<unsigned>(16 * port));
}

// host 0 – leaf-0 (port 1, uplink 3) – spine-0 – leaf-1 – host 1; port 2 of leaf-0 is empty, its
// port 4 has a module and no link.
SimSubnet subnet() {
  SimSubnet out;
  out.nodes = {{.name = "h0 mlx5_0", .type = 1, .ports = 1, .lid = 1, .peers = {{1, {1, 1}}}},
               {.name = "leaf-0", .lid = 2, .peers = {{1, {0, 1}}, {3, {2, 1}}}},
               {.name = "spine-0", .lid = 3, .peers = {{1, {1, 3}}, {2, {3, 3}}}},
               {.name = "leaf-1", .lid = 4, .peers = {{1, {4, 1}}, {3, {2, 2}}}},
               {.name = "h1 mlx5_0", .type = 1, .ports = 1, .lid = 5, .peers = {{1, {3, 1}}}}};
  // Local ports in the opposite order.
  plug(out.nodes[1], 8, 1, "L0P1");
  plug(out.nodes[1], 7, 2, "");
  out.nodes[1].exact[7] = out.nodes[1].coarse[7] = PageImage().put(0x04, 28, 4, 4);
  plug(out.nodes[1], 6, 3, "L0P3");
  plug(out.nodes[1], 5, 4, "L0P4");
  plug(out.nodes[2], 2, 1, "S0P1");
  plug(out.nodes[2], 1, 2, "S0P2");
  plug(out.nodes[3], 3, 1, "L1P1");
  plug(out.nodes[3], 9, 3, "L1P3");
  return out;
}

SubnetModules read_all(SimSubnet& wire, const SubnetModulesWish& wish = {}, int* waits = nullptr) {
  MadExchange exchange(wire, {.timeout_ms = 5, .tries = 2}, [] {});
  return read_subnet_modules(exchange, wish, [&](double) {
    if (waits != nullptr) ++*waits;
  });
}

// "leaf-0 port 1 L0P1; …", and without a module the id of the reason.
std::string listed(const SubnetModules& read) {
  std::string out;
  for (const FittedModule& m : read.modules)
    out += m.host + " " + m.port + " " +
           (m.module ? m.module->serial : "(" + m.why_not.text() + ")") + "; ";
  return out;
}
std::string notes(const SubnetModules& read) {
  std::string out;
  for (const Said& note : read.notes) out += note.text() + "\n";
  return out;
}
bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("every module of every switch, by InfiniBand's port number; empty cages are skipped") {
  SimSubnet wire = subnet();
  const SubnetModules read = read_all(wire);
  CHECK(listed(read) ==
        "leaf-0 port 1 L0P1; leaf-0 port 3 L0P3; leaf-0 port 4 L0P4; spine-0 port 1 S0P1; "
        "spine-0 port 2 S0P2; leaf-1 port 1 L1P1; leaf-1 port 3 L1P3; ");
  CHECK(read.switches == 3);
  CHECK(read.notes.empty());
  CHECK(*read.modules[0].module->celsius == doctest::Approx(45.5 + 16.0 / 256));
  CHECK(*read.modules[1].module->celsius == doctest::Approx(45.5 + 48.0 / 256));
  CHECK(*read.modules[0].module->lanes[7].receive_watts == doctest::Approx(1.07e-3));
  const ModuleAudit audit = audit_modules(read.modules);
  CHECK(audit.findings.empty());
  CHECK(audit.judged.contains("module_alarm"));
}

TEST_CASE("nothing but Get is ever sent, and only three attributes of the vendor's class") {
  for (const SwitchMood mood : {SwitchMood::answers, SwitchMood::silent, SwitchMood::refuses,
                                SwitchMood::old, SwitchMood::unmapped, SwitchMood::another_port}) {
    SimSubnet wire = subnet();
    wire.nodes[1].mood = mood;
    wire.nodes[2].busy = 2;
    read_all(wire);
    REQUIRE(wire.sent.size() > 20);
    std::set<int> registers;
    for (const Mad& mad : wire.sent) {
      CHECK(mad[3] == 0x01);  // method Get
      if (mad[1] != 0x0a) continue;
      const int attribute = mad[16] << 8 | mad[17];
      CHECK((attribute == 0x17 || attribute == 0x51));
      if (attribute == 0x51) registers.insert(mad[22] << 8 | mad[23]);
    }
    CHECK(registers == std::set<int>{0x500a, 0x5031});
  }
}

TEST_CASE("one switch that cannot be read: the others are, and it is said with the next step") {
  const auto said_of = [](SwitchMood mood, uint64_t key = 0) {
    SimSubnet wire = subnet();
    wire.nodes[3].mood = mood;
    const SubnetModules read = read_all(wire, {.vendor_key = key});
    CHECK(has(listed(read), "leaf-0 port 4 L0P4; spine-0 port 1 S0P1; "));
    // Ports of links that are up: both are there, and unread.
    CHECK(std::ranges::count_if(read.modules, [](const FittedModule& m) {
            return m.host == "leaf-1" && !m.module;
          }) == 2);
    CHECK(!audit_modules(read.modules).judged.contains("module_alarm"));
    return notes(read);
  };
  CHECK(has(said_of(SwitchMood::silent), "1 of 3 switches were not read, the first is leaf-1"));
  CHECK(has(said_of(SwitchMood::silent), "no answer in 2 tries of 5 ms"));
  CHECK(has(said_of(SwitchMood::silent), "--vs-key"));
  CHECK(has(said_of(SwitchMood::refuses), "refuses"));
  CHECK(has(said_of(SwitchMood::refuses), "firmware"));
  CHECK(has(said_of(SwitchMood::old), "offers no registers"));
  CHECK(has(said_of(SwitchMood::unmapped), "which of its own ports"));
  CHECK(has(said_of(SwitchMood::keyed), "--vs-key"));
  CHECK(has(said_of(SwitchMood::keyed, 0x78), "--vs-key"));
  CHECK(said_of(SwitchMood::another_port).empty());  // said port by port
}

TEST_CASE("with its key a protected switch answers") {
  SimSubnet wire = subnet();
  for (const size_t node : {1, 2, 3}) wire.nodes[node].mood = SwitchMood::keyed;
  CHECK(read_all(wire, {.vendor_key = 0x77}).modules.size() == 7);
  CHECK(read_all(wire, {.vendor_key = 0x77}).notes.empty());
}

TEST_CASE("an answer about another port is no module of this one") {
  SimSubnet wire = subnet();
  wire.nodes[2].mood = SwitchMood::another_port;
  const SubnetModules read = read_all(wire);
  for (const FittedModule& m : read.modules) {
    CHECK(m.module.has_value() == (m.host != "spine-0"));
    if (m.host == "spine-0") CHECK(has(m.why_not.text(), "about another port"));
  }
}

TEST_CASE("a port whose register does not come is unread, beside the others") {
  SimSubnet wire = subnet();
  wire.nodes[1].mute = {6};
  const SubnetModules read = read_all(wire);
  CHECK(has(listed(read), "leaf-0 port 1 L0P1; leaf-0 port 3 (the register"));
  CHECK(has(listed(read), "leaf-0 port 4 L0P4; "));
  CHECK(!audit_modules(read.modules).judged.contains("module_alarm"));
}

TEST_CASE("a busy switch is asked again after a while, three times and no more") {
  SimSubnet wire = subnet();
  wire.nodes[2].busy = 3;
  int waits = 0;
  CHECK(read_all(wire, {}, &waits).modules.size() == 7);
  CHECK(waits == 1);
  SimSubnet stuck = subnet();
  stuck.nodes[2].busy = 1000;
  waits = 0;
  const SubnetModules read = read_all(stuck, {}, &waits);
  CHECK(waits == 3);
  CHECK(has(listed(read), "spine-0 port 1 (the register of its module was not read: busy"));
}

TEST_CASE("a foreign switch, one without LID, and what stands behind a device that is silent") {
  SimSubnet foreign = subnet();
  foreign.nodes[2].vendor = 0x00066a;
  CHECK(has(notes(read_all(foreign)), "its maker (00066a)"));
  SimSubnet bare = subnet();
  bare.nodes[2].lid = 0;
  CHECK(has(notes(read_all(bare)), "opensm"));
  SimSubnet dead = subnet();
  dead.nodes[2].answers_smp = false;
  const SubnetModules read = read_all(dead);
  CHECK(has(notes(read),
            "questions of the discovery were not answered, the first behind leaf-0 port 3"));
  CHECK(has(notes(read), "--mkey"));
  CHECK(has(listed(read), "leaf-0 behind port 3"));
  CHECK(!audit_modules(read.modules).judged.contains("module_alarm"));
}

TEST_CASE(
    "neighbouring ports of one cage have one module; switches of one name go by their GUIDs") {
  SimSubnet wire = subnet();
  plug(wire.nodes[1], 6, 3, "TWIN");
  plug(wire.nodes[1], 5, 4, "TWIN");
  wire.nodes[3].name = "spine-0";
  const std::string all = listed(read_all(wire));
  CHECK(has(all, "leaf-0 port 1 L0P1; leaf-0 port 3+4 TWIN; S-0000000000001002 port 1 S0P1;"));
  CHECK(has(all, "S-0000000000001003 port 3 L1P3"));
  // One serial number in ports that are no neighbours is two modules.
  plug(wire.nodes[1], 6, 3, "L0P3");
  plug(wire.nodes[1], 8, 1, "TWIN");
  CHECK(has(listed(read_all(wire)), "leaf-0 port 1 TWIN; leaf-0 port 3 L0P3; leaf-0 port 4 TWIN"));
}

TEST_CASE("a copy of its neighbour's serial number hides no fault: both ports are kept and named") {
  SimSubnet wire = subnet();
  plug(wire.nodes[1], 6, 3, "TWIN");
  plug(wire.nodes[1], 5, 4, "TWIN");
  for (auto* pages : {&wire.nodes[1].exact, &wire.nodes[1].coarse})
    pages->at(5).put(0x4c, 16, 16, 90 << 8);
  const SubnetModules read = read_all(wire);
  CHECK(has(listed(read), "leaf-0 port 3 TWIN; leaf-0 port 4 TWIN; "));
  CHECK(has(notes(read), "leaf-0 port 3 and port 4 tell one serial number (TWIN)"));
  const ModuleAudit audit = audit_modules(read.modules);
  REQUIRE(audit.findings.size() == 1);
  CHECK(audit.findings[0].port == "port 4");
}

TEST_CASE("a subnet that answers nobody ends within its limit") {
  SimSubnet wire = subnet();
  for (SimNode& node : wire.nodes) node.answers_smp = false;
  const SubnetModules read = read_all(wire);
  CHECK(read.modules.empty());
  CHECK(read.switches == 0);
  CHECK(has(notes(read), "nobody but the own adapter answered"));
}
