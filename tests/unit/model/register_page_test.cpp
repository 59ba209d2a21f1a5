// The register of a switch port's module, by images of the published layout.
#include <algorithm>

#include <doctest/doctest.h>

#include "model/fabric/register_mad.h"
#include "model/optics/audit.h"
#include "module_page_image.h"

using namespace cb;
using cb::test::osfp_image;
using cb::test::PageImage;

namespace {

std::optional<OpticalModule> read_pages(const PageImage& exact, const PageImage& coarse) {
  return decode_module_page(exact.page(), coarse.page());
}
// The same field in both pages.
std::optional<OpticalModule> with_field(size_t offset, unsigned bit, unsigned size,
                                        uint32_t value) {
  return read_pages(osfp_image("S", true).put(offset, bit, size, value),
                    osfp_image("S", false).put(offset, bit, size, value));
}

}  // namespace

TEST_CASE("every field and lane stands where the published table has it") {
  const OpticalModule o = *read_pages(osfp_image("SN1", true), osfp_image("SN1", false));
  CHECK(o.kind == "OSFP");
  CHECK(o.vendor == "Example Optics");
  CHECK(o.part_number == "EX-800G-DR8");
  CHECK(o.serial == "SN1");
  CHECK(o.revision == "A1");
  CHECK(o.firmware == "46.120.1");
  CHECK(o.date == "26110201");
  CHECK(!o.copper);
  CHECK(*o.celsius == 45.5);
  CHECK(*o.volts == doctest::Approx(3.2999));
  REQUIRE(o.lanes.size() == 8);
  for (size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    const auto n = static_cast<double>(i);
    CHECK(*o.lanes[i].receive_watts == doctest::Approx(1e-3 + 1e-5 * n));
    CHECK(*o.lanes[i].send_watts == doctest::Approx(1.5e-3 + 2e-5 * n));
    CHECK(*o.lanes[i].bias_amperes == doctest::Approx((3000 + 30 * n) * 4e-6));  // 2 µA twice
  }
  CHECK(o.celsius_limits->high_alarm == 75);
  CHECK(o.celsius_limits->low_alarm == -5);
  CHECK(*o.volt_limits->high_alarm == doctest::Approx(3.63));
  CHECK(*o.volt_limits->low_alarm == doctest::Approx(2.97));
  CHECK(*o.receive_limits->high_alarm == doctest::Approx(3.981e-3));
  CHECK(*o.receive_limits->low_alarm == doctest::Approx(9.1e-5));
  CHECK(*o.send_limits->high_alarm == doctest::Approx(3.162e-3));
  CHECK(*o.send_limits->low_alarm == doctest::Approx(1.41e-4));
  CHECK(*o.bias_limits->high_alarm == doctest::Approx(0.03));
  CHECK(*o.bias_limits->low_alarm == doctest::Approx(0.004));
  CHECK(*o.state == 3);
  CHECK(o.inactive_lanes.empty());
  CHECK(audit_modules({{"s", "p", o}}).findings.empty());
  CHECK(!receive_margin(o));  // no warning limit is told
  CHECK(!o.celsius_limits->high_warning);
  CHECK(audit_modules({{"s", "p", o}}).judged.contains("module_alarm"));
  CHECK(!audit_modules({{"s", "p", o}}).judged.contains("module_warning"));
  CHECK(audit_modules({{"s", "p", o}}).judged.contains("module_state"));
}

TEST_CASE("the alarm limits judge: both sides") {
  const auto findings = [](uint32_t microwatts, uint32_t decibels) {
    const auto o = read_pages(osfp_image("S", true).lane(0x50, 5, microwatts),
                              osfp_image("S", false).lane(0x50, 5, decibels));
    const ModuleAudit audit = audit_modules({{"s", "p", *o}});
    return std::ranges::count(audit.findings, "module_alarm", &ModuleFinding::kind);
  };
  CHECK(findings(91, 0xfff6) == 0);
  CHECK(findings(90, 0xfff6) == 1);
}

TEST_CASE("temperatures below zero, data paths by lane, and the factor of bias") {
  CHECK(*with_field(0x4c, 16, 16, 0xff80)->celsius == -0.5);
  CHECK(with_field(0xa0, 0, 32, 0x40444144)->inactive_lanes == std::vector<int>{6});
  CHECK(with_field(0xa0, 0, 32, 0x14444442)->inactive_lanes == std::vector<int>{1, 8});
  CHECK(*with_field(0x98, 10, 2, 0)->lanes[0].bias_amperes == doctest::Approx(6e-3));
  CHECK(*with_field(0x98, 10, 2, 2)->lanes[0].bias_amperes == doctest::Approx(24e-3));
  CHECK(!with_field(0x98, 10, 2, 3)->lanes[0].bias_amperes);
  CHECK(!with_field(0x98, 10, 2, 3)->bias_limits);
  // Bias is measured and cannot be compared: its alarm is open.
  const auto judged = [](const OpticalModule& o) { return audit_modules({{"s", "p", o}}).judged; };
  CHECK(!judged(*with_field(0x98, 10, 2, 3)).contains("module_alarm"));
  CHECK(judged(*with_field(0x98, 10, 2, 2)).contains("module_alarm"));
  CHECK(*with_field(0x94, 29, 3, 5)->state == 5);
  CHECK(!with_field(0x94, 29, 3, 0)->state);
  CHECK(!judged(*with_field(0x94, 29, 3, 0)).contains("module_state"));
}

TEST_CASE("firmware without microwatts: whole decibels, and no limit of light") {
  const PageImage coarse = osfp_image("S", false).lane(0x50, 2, 0xffd8).lane(0x50, 3, 0xffff);
  const OpticalModule o = *read_pages(coarse, coarse);
  CHECK(*o.lanes[0].receive_watts == doctest::Approx(1e-3));
  CHECK(*o.lanes[1].receive_watts == doctest::Approx(1.2589e-3).epsilon(1e-4));
  CHECK(*o.lanes[2].receive_watts == 0);  // -40 dBm
  CHECK(*o.lanes[3].receive_watts == doctest::Approx(7.943e-4).epsilon(1e-4));
  CHECK(!o.receive_limits);
  CHECK(!audit_modules({{"s", "p", o}}).judged.contains("module_alarm"));
  // Without limits nothing shows the unit: 0 may be a milliwatt or no light.
  PageImage bare = osfp_image("S", true).limits(0x88, 0, 0).limits(0x8c, 0, 0);
  CHECK(!read_pages(bare, bare)->lanes[0].receive_watts);
  CHECK(read_pages(bare, bare)->lanes[0].bias_amperes);
}

TEST_CASE("what a module does not measure is absent") {
  const OpticalModule heat = *with_field(0x9c, 8, 8, 0x01);
  CHECK(heat.celsius);
  CHECK(!heat.volts);
  CHECK(heat.lanes.empty());
  CHECK(with_field(0x9c, 8, 8, 0x04)->lanes[0].send_watts);
  CHECK(!with_field(0x9c, 8, 8, 0x04)->lanes[0].receive_watts);
  CHECK(with_field(0x9c, 8, 8, 0x08)->lanes[0].receive_watts);
  CHECK(!with_field(0x9c, 8, 8, 0x10)->lanes[0].receive_watts);
  CHECK(with_field(0x9c, 8, 8, 0x10)->lanes[0].bias_amperes);
  // Firmware that tells no mask: what is set is there, and zeros are not.
  PageImage empty;
  empty.put(0x04, 8, 8, 8).text(0x24, 16, "EX").text(0x3c, 16, "S");
  const OpticalModule o = *read_pages(empty, empty);
  CHECK(!o.celsius);
  CHECK(!o.volts);
  CHECK(o.lanes.empty());
  CHECK(with_field(0x9c, 8, 8, 0)->celsius);
  CHECK(with_field(0x9c, 8, 8, 0)->lanes.size() == 8);
}

TEST_CASE("kinds, copper, an empty cage, and pages of two modules") {
  CHECK(with_field(0x04, 8, 8, 0)->lanes.size() == 4);
  CHECK(!with_field(0x04, 8, 8, 0)->state);
  CHECK(with_field(0x04, 8, 8, 0)->kind == "QSFP28");
  CHECK(with_field(0x04, 8, 8, 2)->lanes.size() == 1);
  CHECK(!with_field(0x04, 8, 8, 9));
  CHECK(!with_field(0x04, 8, 8, 12));
  CHECK(!with_field(0x04, 8, 8, 255));
  CHECK(with_field(0x04, 28, 4, 3)->copper);
  CHECK(audit_modules({{"s", "p", *with_field(0x04, 28, 4, 3)}}).judged.empty());
  CHECK(with_field(0x04, 28, 4, 3)->lanes.empty());
  CHECK(with_field(0x00, 24, 8, 0x0a)->copper);
  CHECK(with_field(0x00, 24, 8, 0x12)->copper);
  CHECK(!with_field(0x00, 24, 8, 0x11)->copper);
  CHECK(!with_field(0x00, 24, 8, 0x09)->copper);
  CHECK(is_plugged(osfp_image("S", true).page()));
  CHECK(!is_plugged(osfp_image("S", true).put(0x04, 28, 4, 4).page()));
  CHECK(!read_pages(osfp_image("S1", true), osfp_image("S2", false)));
  CHECK(!read_pages(PageImage().put(0x04, 8, 8, 8), PageImage().put(0x04, 8, 8, 8)));
}

TEST_CASE("a register is asked by Get, the key, its number and the local port") {
  for (const MadQuestion& question : {ask_port_map(7, 0x2a5, 0x1122334455667788),
                                      ask_module_page(7, 0x2a5, LightUnit::microwatts, 1),
                                      ask_module_page(7, 5, LightUnit::decibels, 0)}) {
    const Mad mad = compose(question, 9);
    CHECK(mad[1] == 0x0a);
    CHECK(mad[3] == 0x01);  // Get
    CHECK(mad[16] == 0);
    CHECK(mad[17] == 0x51);
    for (const size_t block : {32, 33, 34, 35}) CHECK(mad[block] == 0);
    CHECK(question.lid == 7);
  }
  const Mad map = compose(ask_port_map(7, 0x2a5, 0x1122334455667788), 9);
  CHECK((map[20] << 24 | map[21] << 16 | map[22] << 8 | map[23]) == 0x500a);
  CHECK(map[24] == 0x11);
  CHECK(map[31] == 0x88);
  CHECK(map[37] == 0xa5);
  CHECK(map[38] == 0x20);  // bits 8 and 9 of the port
  const Mad exact = compose(ask_module_page(7, 5, LightUnit::microwatts, 0), 9);
  CHECK((exact[22] << 8 | exact[23]) == 0x5031);
  CHECK(exact[37] == 5);
  CHECK(exact[40] == 0x20);
  CHECK(exact[43] == 3);
  CHECK(compose(ask_module_page(7, 5, LightUnit::decibels, 0), 9)[40] == 0);
  CHECK(std::string(attribute_name(MadAttribute::access_register)) == "AccessRegister");
}

TEST_CASE("an answer about another port or page is none") {
  Mad mad = compose(ask_port_map(7, 0x105, 0), 1);
  mad[38] |= 0x02;
  mad[39] = 0x01;
  CHECK(*decode_port_map(mad, 0x105) == 0x201);
  CHECK(!decode_port_map(mad, 0x005));
  CHECK(!decode_port_map(mad, 0x106));
  mad = compose(ask_module_page(7, 5, LightUnit::microwatts, 0), 1);
  std::ranges::copy(osfp_image("S", true).page(), mad.begin() + 44);
  CHECK(*decode_module_page_of(mad, 5) == osfp_image("S", true).page());
  CHECK(!decode_module_page_of(mad, 6));
  mad[43] = 2;
  CHECK(!decode_module_page_of(mad, 5));
}

TEST_CASE("the bit of GeneralInfo and the words of a status") {
  Mad info{};
  CHECK(!offers_registers(info));
  info[161] = 0xef;
  CHECK(!offers_registers(info));
  info[161] = 0x10;
  CHECK(offers_registers(info));
  CHECK(register_status_text(0x14) == "register not supported");
  CHECK(register_status_text(0x1c) == "bad parameter");
  CHECK(register_status_text(0x0100) == "status 0x0100");
  CHECK(is_register_busy(1));
  CHECK(!is_register_busy(0x14));
}
