// Memories of modules built byte by byte from SFF-8636 and CMIS, and what is wrong with a fleet.
#include <doctest/doctest.h>

#include <functional>

#include "model/optics/audit.h"

using namespace cb;

namespace {

void put8(std::string& bytes, size_t at, unsigned value) {
  bytes[at % 128] = static_cast<char>(value);
}
void put16(std::string& bytes, size_t at, unsigned value) {
  put8(bytes, at, value >> 8);
  put8(bytes, at + 1, value & 255);
}
void put_text(std::string& bytes, size_t at, size_t length, std::string text) {
  text.resize(length, ' ');
  bytes.replace(at % 128, length, text);
}
void put_limits(std::string& bytes, size_t at, unsigned ha, unsigned la, unsigned hw, unsigned lw) {
  put16(bytes, at, ha);
  put16(bytes, at + 2, la);
  put16(bytes, at + 4, hw);
  put16(bytes, at + 6, lw);
}

// A QSFP28 of 45.5 °C, 3.3 V; lanes receive 1.0 mW, send 1.1 mW, 6 mA.
ModuleMemory qsfp28() {
  ModuleMemory out{.lower = std::string(128, '\0')};
  std::string page0(128, '\0'), page3(128, '\0');
  put8(out.lower, 0, 0x11);
  put16(out.lower, 22, 0x2d80);
  put16(out.lower, 26, 33000);
  for (size_t lane = 0; lane < 4; ++lane) {
    put16(out.lower, 34 + 2 * lane, 10000);
    put16(out.lower, 42 + 2 * lane, 3000);
    put16(out.lower, 50 + 2 * lane, 11000);
  }
  put_text(page0, 148, 16, "Example Optics");
  put_text(page0, 168, 16, "EX-100G-SR4");
  put_text(page0, 184, 2, "A1");
  put_text(page0, 196, 16, "SN0001");
  put_text(page0, 212, 8, "260301");
  put_limits(page3, 128, 75 * 256, 0xfb00, 70 * 256, 0);
  put_limits(page3, 144, 36300, 29700, 34600, 31300);
  put_limits(page3, 176, 30000, 500, 25000, 1000);
  put_limits(page3, 184, 5000, 500, 4500, 1000);
  put_limits(page3, 192, 30000, 500, 25000, 1000);
  out.pages[{0, 0}] = page0;
  out.pages[{0, 3}] = page3;
  return out;
}

// An OSFP, ready, eight lanes: 50 °C, 0.9 mW received, errors 2.5e-7 before correction on lane 3.
ModuleMemory osfp() {
  ModuleMemory out{.lower = std::string(128, '\0')};
  std::string page0(128, '\0'), page1(128, '\0'), page2(128, '\0'), page11(128, '\0'),
      what(128, '\0'), value(128, '\0');
  put8(out.lower, 0, 0x19);
  put8(out.lower, 1, 0x52);
  put8(out.lower, 3, 3 << 1);
  put16(out.lower, 14, 50 * 256);
  put16(out.lower, 16, 33100);
  put8(out.lower, 39, 2);
  put8(out.lower, 40, 14);
  put_text(page0, 129, 16, "Example Optics");
  put_text(page0, 148, 16, "EX-800G-DR8");
  put_text(page0, 166, 16, "SN0800");
  put8(page0, 212, 6);
  put8(page1, 160, 1 << 3);  // bias in 4 µA
  put_limits(page2, 128, 75 * 256, 0xfb00, 70 * 256, 0);
  put_limits(page2, 136, 36300, 29700, 34600, 31300);
  put_limits(page2, 176, 30000, 500, 25000, 1000);
  put_limits(page2, 184, 40000, 500, 35000, 1000);
  put_limits(page2, 192, 30000, 500, 25000, 1000);
  for (size_t lane = 0; lane < 8; ++lane) {
    page11[lane / 2] = 0x44;
    put16(page11, 154 + 2 * lane, 12000);
    put16(page11, 170 + 2 * lane, 20000);
    put16(page11, 186 + 2 * lane, 9000);
  }
  put8(what, 128, 0x02);
  put8(what, 129, 15);
  put16(value, 128, 250U | 15U << 11);  // 250e-9
  out.pages = {{{0, 0}, page0},     {{0, 1}, page1},   {{0, 2}, page2},
               {{0, 0x11}, page11}, {{0, 0x20}, what}, {{0, 0x24}, value}};
  return out;
}

std::string& page_of(ModuleMemory& memory, int page) { return memory.pages[{0, page}]; }

FittedModule fitted(int i, const ModuleMemory& memory) {
  FittedModule out{.host = "n1", .port = "eth" + std::to_string(i)};
  out.module = decode_module(memory);
  out.window_seconds = 60;
  out.bits_per_second = 1e11;
  out.corrected_bits = 6e3;  // 1e-9 of 6e12
  out.uncorrectable_blocks = 0;
  out.link_downs = 0;
  return out;
}

std::string kinds(const std::vector<FittedModule>& modules) {
  std::string out;
  for (const ModuleFinding& f : audit_modules(modules).findings)
    out += f.port + " " + f.kind + "\n";
  return out;
}

}  // namespace

TEST_CASE("a module of SFF-8636, byte for byte") {
  const auto m = decode_module(qsfp28());
  REQUIRE(m);
  CHECK(m->kind == "QSFP28");
  CHECK(m->vendor == "Example Optics");
  CHECK(m->part_number == "EX-100G-SR4");
  CHECK(m->revision == "A1");
  CHECK(m->serial == "SN0001");
  CHECK(m->date == "260301");
  CHECK(*m->celsius == 45.5);
  CHECK(*m->volts == doctest::Approx(3.3));
  REQUIRE(m->lanes.size() == 4);
  CHECK(*m->lanes[3].receive_watts == doctest::Approx(1e-3));
  CHECK(*m->lanes[3].send_watts == doctest::Approx(1.1e-3));
  CHECK(*m->lanes[3].bias_amperes == doctest::Approx(6e-3));
  CHECK(m->celsius_limits->high_alarm == 75);
  CHECK(m->celsius_limits->low_alarm == -5);
  CHECK(*m->receive_limits->low_warning == doctest::Approx(1e-4));
  CHECK(*m->bias_limits->high_warning == doctest::Approx(9e-3));
  CHECK(m->flags.empty());
  CHECK(*receive_margin(*m) == doctest::Approx(10.0));  // 1 mW over 0.1 mW
  CHECK(*lane_spread(*m) == 0);
}

TEST_CASE("a module of CMIS, byte for byte, with errors before correction") {
  const auto m = decode_module(osfp());
  REQUIRE(m);
  CHECK(m->kind == "OSFP");
  CHECK(m->serial == "SN0800");
  CHECK(m->firmware == "2.14");
  CHECK(m->state == 3);
  CHECK(*m->celsius == 50);
  REQUIRE(m->lanes.size() == 8);
  CHECK(m->inactive_lanes.empty());
  CHECK(*m->lanes[7].bias_amperes == doctest::Approx(80e-3));
  CHECK(*m->bias_limits->high_alarm == doctest::Approx(160e-3));
  CHECK(*m->lanes[7].receive_watts == doctest::Approx(0.9e-3));
  CHECK(*m->lanes[2].media_ber == doctest::Approx(2.5e-7));
  CHECK_FALSE(m->lanes[0].media_ber.has_value());
  CHECK(cmis_f16(250U | 15U << 11) == doctest::Approx(250e-9));
  CHECK(cmis_f16(0) == 0);
  CHECK(*dbm(1e-3) == 0);
  CHECK_FALSE(dbm(0).has_value());
}

TEST_CASE("copper by the media technology of CMIS; tunable lasers are none") {
  const auto is_copper = [](unsigned technology) {
    ModuleMemory memory = osfp();
    put8(page_of(memory, 0), 212, technology);
    return decode_module(memory)->copper;
  };
  CHECK_FALSE(is_copper(0x09));
  CHECK(is_copper(0x0a));
  CHECK(is_copper(0x0f));
  CHECK_FALSE(is_copper(0x10));
  CHECK_FALSE(is_copper(0x11));
  CHECK(is_copper(0x12));
}

TEST_CASE("memories that are no module, cut off or flat") {
  CHECK_FALSE(decode_module({}).has_value());
  ModuleMemory sfp = qsfp28();
  put8(sfp.lower, 0, 0x03);
  CHECK_FALSE(decode_module(sfp).has_value());
  ModuleMemory without = qsfp28();
  without.pages.clear();
  CHECK_FALSE(decode_module(without).has_value());
  ModuleMemory flat = osfp();
  put8(flat.lower, 2, 0x80);
  const auto cable = decode_module(flat);
  REQUIRE(cable);
  CHECK(cable->lanes.empty());
  CHECK_FALSE(cable->celsius.has_value());
  CHECK(pages_to_read(flat.lower) == std::vector<std::pair<int, int>>{{0, 0}});
  CHECK(pages_to_read(qsfp28().lower).size() == 2);
  CHECK(pages_to_read(osfp().lower).size() == 13);
  CHECK(pages_to_read("").empty());
  ModuleMemory short_pages = osfp();
  for (auto& [at, bytes] : short_pages.pages) {
    if (at.second != 0) bytes.resize(20);
  }
  CHECK(decode_module(short_pages).has_value());
}

TEST_CASE("healthy modules give no finding, and every kind is judged") {
  std::vector<FittedModule> fleet;
  for (int i = 0; i < 8; ++i) fleet.push_back(fitted(i, i % 2 == 0 ? qsfp28() : qsfp28()));
  CHECK(kinds(fleet).empty());
  const ModuleAudit audit = audit_modules(fleet);
  for (const std::string& kind : module_kinds()) CHECK_MESSAGE(audit.judged.contains(kind), kind);
  CHECK(*error_rate(fleet[0]) == doctest::Approx(1e-9));
  CHECK(*shown_error_rate(fleet[0]) == doctest::Approx(5e-13));
}

TEST_CASE("each planted fault is found as what it is, and nothing else") {
  struct Planted {
    const char* kind;
    std::function<void(ModuleMemory&)> plant;
  };
  const Planted in_sff[] = {
      {"module_alarm", [](ModuleMemory& m) { put8(m.lower, 3, 0x02); }},     // no light on lane 2
      {"module_alarm", [](ModuleMemory& m) { put8(m.lower, 4, 0x08); }},     // fault, lane 4
      {"module_alarm", [](ModuleMemory& m) { put8(m.lower, 6, 0x80); }},     // temperature
      {"module_warning", [](ModuleMemory& m) { put8(m.lower, 9, 0x02); }},   // rx, lane 2
      {"module_alarm", [](ModuleMemory& m) { put16(m.lower, 26, 29699); }},  // supply
      {"module_warning", [](ModuleMemory& m) { put16(m.lower, 22, 70 * 256 + 1); }},
      {"module_warning", [](ModuleMemory& m) { put16(m.lower, 42, 4501); }},  // bias
      {"lane_spread", [](ModuleMemory& m) { put16(m.lower, 34, 5000); }}};    // 3.01 dB
  for (const Planted& planted : in_sff) {
    ModuleMemory memory = qsfp28();
    planted.plant(memory);
    CHECK(kinds({fitted(0, memory)}) == std::string("eth0 ") + planted.kind + "\n");
  }
  const Planted in_cmis[] = {
      {"module_state", [](ModuleMemory& m) { put8(m.lower, 3, 5 << 1); }},
      {"module_state", [](ModuleMemory& m) { page_of(m, 0x11)[3] = 0x14; }},  // lane 8
      {"module_alarm", [](ModuleMemory& m) { put8(page_of(m, 0x11), 147, 0x80); }},
      {"module_warning", [](ModuleMemory& m) { put8(page_of(m, 0x11), 146, 0x01); }},
      {"module_alarm", [](ModuleMemory& m) { put8(m.lower, 9, 0x02); }},
      {"error_rate", [](ModuleMemory& m) { put16(page_of(m, 0x24), 128, 101U | 17U << 11); }}};
  for (const Planted& planted : in_cmis) {
    ModuleMemory memory = osfp();
    planted.plant(memory);
    CHECK(kinds({fitted(0, memory)}) == std::string("eth0 ") + planted.kind + "\n");
  }
}

TEST_CASE("limits from both sides") {
  ModuleMemory memory = qsfp28();
  put16(memory.lower, 22, 70 * 256);
  put16(memory.lower, 26, 31300);
  put16(memory.lower, 34, 5012);  // 3.0 dB below 10000
  CHECK(kinds({fitted(0, memory)}).empty());
  FittedModule m = fitted(0, qsfp28());
  m.corrected_bits = 6e7;  // 1e-5
  CHECK(kinds({m}).empty());
  m.corrected_bits = 6.1e7;
  CHECK(kinds({m}) == "eth0 error_rate\n");
  m = fitted(0, qsfp28());
  m.uncorrectable_blocks = 1;
  m.link_downs = 1;
  CHECK(kinds({m}) == "eth0 uncorrectable\neth0 flaps\n");
}

TEST_CASE("lanes of a module of eight that the port does not use are not judged") {
  ModuleMemory memory = osfp();
  for (size_t lane = 4; lane < 8; ++lane) {
    put16(page_of(memory, 0x11), 154 + 2 * lane, 0);
    put16(page_of(memory, 0x11), 170 + 2 * lane, 0);
    put16(page_of(memory, 0x11), 186 + 2 * lane, 0);
  }
  page_of(memory, 0x11)[2] = page_of(memory, 0x11)[3] = 0x11;
  put8(page_of(memory, 0x11), 147, 0xf0);
  CHECK(kinds({fitted(0, memory)}).empty());
}

TEST_CASE("a module unlike its like: hot, dim, driven harder; few say nothing") {
  const auto with = [](size_t count, const std::function<void(ModuleMemory&)>& plant) {
    std::vector<FittedModule> fleet;
    for (size_t i = 0; i < count; ++i) {
      ModuleMemory memory = qsfp28();
      if (i == 1) plant(memory);
      fleet.push_back(fitted(static_cast<int>(i), memory));
    }
    return fleet;
  };
  const auto hot = [](ModuleMemory& m) { put16(m.lower, 22, 0x2d80 + 10 * 256 + 1); };
  const auto dim = [](ModuleMemory& m) {
    for (size_t lane = 0; lane < 4; ++lane) put16(m.lower, 34 + 2 * lane, 5000);
  };
  const auto driven = [](ModuleMemory& m) { put16(m.lower, 42, 3901); };
  CHECK(kinds(with(8, hot)) == "eth1 module_outlier\n");
  CHECK(kinds(with(8, dim)) == "eth1 module_outlier\n");
  CHECK(kinds(with(8, driven)) == "eth1 module_outlier\n");
  CHECK(kinds(with(7, hot)).empty());
  CHECK_FALSE(audit_modules(with(7, hot)).judged.contains("module_outlier"));
  CHECK(kinds(with(8, [](ModuleMemory& m) { put16(m.lower, 22, 0x2d80 + 10 * 256); })).empty());
}

TEST_CASE("a module that was not read passes nothing") {
  std::vector<FittedModule> fleet{fitted(0, qsfp28()), {.host = "n1", .port = "eth1"}};
  const ModuleAudit audit = audit_modules(fleet);
  CHECK(audit.findings.empty());
  CHECK(audit.judged.empty());
}

TEST_CASE("pages that were not read, or in part, pass nothing and are no zeros") {
  for (const int page : {0x02, 0x11}) {
    for (const size_t bytes : {size_t{0}, size_t{60}}) {
      ModuleMemory memory = osfp();
      page_of(memory, page).resize(bytes);
      const ModuleAudit audit = audit_modules({fitted(0, memory)});
      INFO(page, " ", bytes);
      CHECK(audit.findings.empty());
      CHECK_FALSE(audit.judged.contains("module_alarm"));
      CHECK_FALSE(audit.judged.contains("module_warning"));
      CHECK(audit.judged.contains("lane_spread") == (page == 0x02));
    }
  }
  ModuleMemory without = qsfp28();
  without.pages.erase({0, 3});
  CHECK_FALSE(audit_modules({fitted(0, without)}).judged.contains("module_alarm"));
  put8(without.lower, 3, 0x02);  // a flag is told all the same
  CHECK(kinds({fitted(0, without)}) == "eth0 module_alarm\n");
}

TEST_CASE("one dark lane among lit ones is a finding, a dark module is none of this kind") {
  ModuleMemory memory = qsfp28();
  put16(memory.lower, 36, 0);
  put16(page_of(memory, 3), 176, 0);  // its maker set no limits of light
  for (size_t at = 176; at < 184; at += 2) put16(page_of(memory, 3), at, 0);
  CHECK(kinds({fitted(0, memory)}) == "eth0 lane_spread\n");
  for (size_t lane = 0; lane < 4; ++lane) put16(memory.lower, 34 + 2 * lane, 0);
  CHECK(kinds({fitted(0, memory)}).empty());
}

TEST_CASE("limits of which a maker set the alarms alone warn of nothing") {
  ModuleMemory memory = qsfp28();
  for (const size_t at : {132, 134}) put16(page_of(memory, 3), at, 0);  // warnings of temperature
  CHECK(kinds({fitted(0, memory)}).empty());
}

TEST_CASE("warnings pass only where warning limits are told, alarms where alarm limits are") {
  const auto judged = [](const std::function<void(OpticalModule&)>& change) {
    FittedModule m = fitted(0, qsfp28());
    change(*m.module);
    const auto all = audit_modules({m}).judged;
    return std::pair(all.contains("module_alarm"), all.contains("module_warning"));
  };
  using Judged = std::pair<bool, bool>;
  CHECK(judged([](OpticalModule&) {}) == Judged{true, true});
  CHECK(judged([](OpticalModule& o) { o.celsius_limits->high_warning.reset(); }) ==
        Judged{true, false});
  CHECK(judged([](OpticalModule& o) { o.receive_limits->low_alarm.reset(); }) ==
        Judged{false, false});
  CHECK(judged([](OpticalModule& o) { o.bias_limits.reset(); }) == Judged{false, false});
  CHECK(judged([](OpticalModule& o) { o.bias_limits->low_warning.reset(); }) ==
        Judged{true, false});
  CHECK(judged([](OpticalModule& o) { o.volt_limits->high_alarm.reset(); }) ==
        Judged{false, false});
  CHECK(judged([](OpticalModule& o) { o.send_limits.reset(); }) == Judged{true, true});
  CHECK(judged([](OpticalModule& o) {
          o.celsius_limits->high_warning = o.celsius_limits->low_warning = 0;
        }) == Judged{true, false});
}

TEST_CASE("a limit that stands alone is compared: bias beyond its alarm, from both sides") {
  FittedModule m = fitted(0, qsfp28());
  m.module->bias_limits = ModuleLimits{.high_alarm = 6e-3};
  CHECK(kinds({m}).empty());  // 6 mA
  m.module->lanes[1].bias_amperes = 6.1e-3;
  CHECK(kinds({m}) == "eth0 module_alarm\n");
}

TEST_CASE("a CMIS module whose state nobody told does not pass its state") {
  FittedModule m = fitted(0, osfp());
  CHECK(audit_modules({m}).judged.contains("module_state"));
  m.module->state.reset();
  CHECK(!audit_modules({m}).judged.contains("module_state"));
  CHECK(audit_modules({fitted(0, qsfp28())}).judged.contains("module_state"));  // has none
  for (const char* kind : {"QSFP-DD Double Density 8X Pluggable Transceiver", "OSFP", "QSFP_CMIS",
                           "QSFP+ or later with CMIS", "DSFP Dual Small Form Factor"})
    CHECK_MESSAGE(is_cmis_kind(kind), kind);
  for (const char* kind : {"QSFP28 or later", "SFP", "QSFP+", ""})
    CHECK_MESSAGE(!is_cmis_kind(kind), kind);
}

TEST_CASE("of nothing but copper no kind of light, heat or state was judged; counters are") {
  FittedModule cable = fitted(0, qsfp28());
  cable.module = OpticalModule{.kind = "QSFP28", .serial = "S", .copper = true};
  const auto judged = audit_modules({cable, cable}).judged;
  CHECK(judged == std::set<std::string>{"error_rate", "uncorrectable", "flaps"});
  // Beside an optical module it hinders nothing.
  CHECK(audit_modules({cable, fitted(1, qsfp28())}).judged.contains("module_alarm"));
}

TEST_CASE("each quantity beyond its limit says its own next step") {
  const auto said_of = [](const std::function<void(OpticalModule&)>& change) {
    FittedModule m = fitted(0, qsfp28());
    change(*m.module);
    std::string out;
    for (const ModuleFinding& f : audit_modules({m}).findings) out += f.what.text() + "\n";
    return out;
  };
  const auto has = [](const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
  };
  const std::string hot = said_of([](OpticalModule& o) { o.celsius = 90; });
  CHECK(has(hot, "90.0 °C; next: look at the air flow"));
  CHECK(!has(hot, "clean"));
  CHECK(has(said_of([](OpticalModule& o) { o.volts = 3.7; }), "another port"));
  CHECK(has(said_of([](OpticalModule& o) { o.lanes[0].bias_amperes = 11e-3; }), "laser ages"));
  CHECK(has(said_of([](OpticalModule& o) { o.lanes[0].receive_watts = 1e-6; }), "clean both ends"));
  CHECK(has(said_of([](OpticalModule& o) { o.flags = {{"tx_fault", 1, true}}; }), "put it back"));
  const std::string both = said_of([](OpticalModule& o) {
    o.celsius = 90;
    o.lanes[0].receive_watts = 1e-6;
  });
  CHECK(has(both, "air flow"));
  CHECK(has(both, "clean both ends"));
  const std::string warm = said_of([](OpticalModule& o) { o.celsius = 71; });
  CHECK(has(warm, "warning limits: 71.0 °C; next: look at the air flow"));
}
