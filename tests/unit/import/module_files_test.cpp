// What ethtool, mlxlink and ibdiagnet have written of modules. Texts composed here after their
// grammars.
#include "import/modules/module_files.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

namespace {

OpticalModule module_of(const std::string& text, const std::string& file = "n1@p.txt") {
  const auto all = read_module_file(text, file);
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].module);
  return *all[0].module;
}

std::string refusal(const std::string& text, const std::string& file = "n1@p.txt") {
  try {
    read_module_file(text, file);
  } catch (const UsageError& e) {
    return e.problems().text();
  }
  return "";
}

// "rx_power 1 alarm; …", as the module has them.
std::string flags(const OpticalModule& module) {
  std::string out;
  for (const ModuleFlag& f : module.flags)
    out += f.what + " " + std::to_string(f.lane) + (f.alarm ? " alarm; " : " warning; ");
  return out;
}

const std::string kHead =
    "\tIdentifier : 0x11 (QSFP28)\n\tVendor name : Example\n\tVendor PN : EX\n\tVendor SN : Q1\n";

// SFF-8472 as ethtool prints it: one lane, names of its own, no channel.
const std::string kSfp =
    "\tIdentifier : 0x03 (SFP)\n\tVendor PN : EX-25G-SR\n\tVendor SN : S1\n"
    "\tLaser bias current                        : 6.500 mA\n"
    "\tLaser output power                        : 0.8000 mW / -0.97 dBm\n"
    "\tReceiver signal average optical power     : 0.0000 mW / -inf dBm\n"
    "\tModule temperature                        : 40.00 degrees C / 104.00 degrees F\n"
    "\tLaser bias current low alarm              : On\n"
    "\tLaser output power low warning            : On\n"
    "\tLaser rx power low alarm                  : On\n"
    "\tLaser rx power low warning                : On\n"
    "\tModule temperature high warning           : On\n"
    "\tLaser bias current high alarm threshold   : 10.000 mA\n"
    "\tLaser bias current low alarm threshold    : 2.000 mA\n"
    "\tLaser bias current high warning threshold : 9.000 mA\n"
    "\tLaser bias current low warning threshold  : 3.000 mA\n";

std::string mlxlink(const std::string& status, const std::string& rate, const std::string& receive,
                    const std::string& cable = "Optical Module (separated)") {
  return R"({"status": )" + status +
         R"(, "result": {"output": {"Physical Counters and BER Info": {"Raw Physical BER": ")" +
         rate + R"("}, "Module Info": {"Identifier": "OSFP", "Vendor Part Number": "EX",
         "Vendor Serial Number": "X1", "Cable Type": ")" +
         cable + R"(", "Rx Power Current [dBm]": ")" + receive + R"("}}}})";
}

std::string cables(const std::string& columns, const std::string& cells,
                   const std::string& other_name = "n1 mlx5_0") {
  return "START_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID\n\"leaf-0\",64,2,0x1\n\"" + other_name +
         "\",1,1,0x2\n\"n1 mlx5_0\",1,1,0x3\nEND_NODES\nSTART_CABLE_INFO\nNodeGuid,PortNum,PN,SN" +
         columns + "\n" + cells + "END_CABLE_INFO\n";
}

}  // namespace

TEST_CASE("an SFP: its own names of light, bias and flags, all of lane 1") {
  const OpticalModule sfp = module_of(kSfp);
  REQUIRE(sfp.lanes.size() == 1);
  CHECK(*sfp.lanes[0].receive_watts == 0);
  CHECK(*sfp.lanes[0].send_watts == doctest::Approx(8e-4));
  CHECK(*sfp.lanes[0].bias_amperes == doctest::Approx(6.5e-3));
  CHECK(*sfp.celsius == 40);
  CHECK(*sfp.bias_limits->low_warning == doctest::Approx(3e-3));
  CHECK(flags(sfp) ==
        "rx_power 1 alarm; tx_power 1 warning; bias 1 alarm; temperature 0 warning; ");
}

TEST_CASE("an SFP by JSON, where a reading and its limits have one name") {
  const OpticalModule sfp = module_of(R"([{"identifier": 3, "vendor_pn": "EX", "vendor_sn": "S1",
      "laser_bias_current": 6.5, "laser_output_power": 0.8, "rx_power": 0.4,
      "laser_rx_power_low_alarm": true,
      "laser_bias_current": {"high_alarm_threshold": 10, "low_alarm_threshold": 2,
                             "high_warning_threshold": 9, "low_warning_threshold": 3},
      "laser_output_power": {"high_alarm_threshold": 2, "low_alarm_threshold": 0.1,
                             "high_warning_threshold": 1.5, "low_warning_threshold": 0.2}}])",
                                      "n1@p.json");
  REQUIRE(sfp.lanes.size() == 1);
  CHECK(*sfp.lanes[0].receive_watts == doctest::Approx(4e-4));
  CHECK(*sfp.lanes[0].bias_amperes == doctest::Approx(6.5e-3));
  CHECK(*sfp.send_limits->high_warning == doctest::Approx(1.5e-3));
  CHECK(flags(sfp) == "rx_power 1 alarm; ");
}

TEST_CASE("a lane has the number that its label gives it") {
  const std::string light = "\tRcvr signal avg optical power(Channel ";
  const OpticalModule three =
      module_of(kHead + light + "1) : 0.8 mW\n" + light + "3) : 0.7 mW\n" + light +
                "4) : 0.0 mW\n\tLaser rx power low alarm   (Chan 4) : On\n");
  REQUIRE(three.lanes.size() == 4);
  CHECK(!three.lanes[1].receive_watts);
  CHECK(*three.lanes[2].receive_watts == doctest::Approx(7e-4));
  CHECK(*three.lanes[3].receive_watts == 0);
  CHECK(flags(three) == "rx_power 4 alarm; ");
  // A lane of which nothing is told passes nothing, and the dark one is still named.
  const ModuleAudit audit = audit_modules({{"n1", "p", three}});
  CHECK(!audit.judged.contains("lane_spread"));
  bool is_named = false;
  for (const ModuleFinding& f : audit.findings)
    is_named = is_named || f.what.text().find("no light on lane 4") != std::string::npos;
  CHECK(is_named);
  CHECK(refusal(kHead + light + "1) : 0.8 mW\n" + light + "1) : 0.7 mW\n").find("twice") !=
        std::string::npos);
  CHECK(refusal(kHead + light + "33) : 0.8 mW\n").find("line 5") != std::string::npos);
  CHECK(refusal(kHead + light + "99999999999) : 0.8 mW\n").find("line 5") != std::string::npos);
}

TEST_CASE("what is no reading is refused with its line") {
  const std::string light = "\tRcvr signal avg optical power(Channel 1) : ";
  for (const char* value : {"inf mW / inf dBm", "nan mW", "-0.8 mW", "-inf mW"}) {
    const std::string said = refusal(kHead + light + value + "\n");
    CHECK_MESSAGE(said.find("line 5") != std::string::npos, value);
    CHECK_MESSAGE(said.find(value) != std::string::npos, value);
  }
  CHECK(refusal(kHead + light + "0.0000 mW / -inf dBm\n").empty());
  CHECK(*module_of(kHead + "\tModule temperature : -3.50 degrees C\n").celsius == -3.5);
}

TEST_CASE("a text that ends within a value is cut off, one with two modules is two files") {
  const std::string whole = kHead + "\tModule temperature : 91.00 degrees C\n";
  CHECK(refusal(whole).empty());
  CHECK(refusal(whole.substr(0, whole.size() - 15)).find("cut off") != std::string::npos);
  CHECK(refusal(whole + whole).find("line 6") != std::string::npos);
}

TEST_CASE("mlxlink: the error rate is judged without light, and for copper") {
  const std::string good = R"({"code": 0})";
  for (const std::string cable : {"Optical Module (separated)", "Passive copper cable"}) {
    const OpticalModule module = module_of(mlxlink(good, "1E-2", "N/A", cable), "n1@p.json");
    CHECK(module.lanes.empty());
    CHECK(*error_rate({"n1", "p", module}) == doctest::Approx(1e-2));
    CHECK(audit_modules({{"n1", "p", module}}).findings.size() == 1);
  }
  CHECK(!module_of(mlxlink(good, "N/A", "N/A"), "n1@p.json").media_ber);
  CHECK(*module_of(mlxlink(good, "15E-255", "N/A"), "n1@p.json").media_ber == 0);
  for (const char* rate : {"inf", "-1E-9", "many"})
    CHECK_MESSAGE(refusal(mlxlink(good, rate, "N/A")).find("Raw Physical BER") != std::string::npos,
                  rate);
}

TEST_CASE("mlxlink: a failed read and a level that is none are refused") {
  const std::string failed = R"({"code": 1, "message": "Failed to open device"})";
  CHECK(refusal(mlxlink(failed, "3E-9", "0.1")).find("Failed to open device") != std::string::npos);
  CHECK(refusal(mlxlink(R"({"code": 0, "message": "success"})", "3E-9", "0.1")).empty());
  CHECK(refusal(mlxlink(R"({"code": 0})", "3E-9", "1e308,5")).find("Rx Power") !=
        std::string::npos);
}

TEST_CASE("cables of ibdiagnet: flags of every lane that has a column") {
  const auto all = read_module_file(
      cables(",LowRX5PowerAlarm,LowTX8BiasWarning,HighRX4PowerAlarm", "0x1,1,P,S1,0x1,1,0\n"), "f");
  REQUIRE(all.size() == 1);
  CHECK(flags(*all[0].module) == "rx_power 5 alarm; bias 8 warning; ");
  CHECK(flags(*read_module_file(cables(",LowRX1PowerAlarm", "0x1,1,P,S1,N/A\n"), "f")[0].module)
            .empty());
  const std::string said = refusal(cables(",LowRX1PowerAlarm", "0x1,1,P,S1,On\n"));
  CHECK(said.find("line 9") != std::string::npos);
  CHECK(said.find("LowRX1PowerAlarm") != std::string::npos);
  CHECK(!read_module_file(cables(",Temperature", "0x1,1,P,S1,infC\n"), "f")[0].module->celsius);
}

TEST_CASE("adapters of one description go by their GUIDs") {
  const std::string rows = "0x2,1,P,S2\n0x3,1,P,S3\n";
  const auto twins = read_module_file(cables("", rows), "f");
  CHECK(twins[0].host == "0x2");
  CHECK(twins[1].host == "0x3");
  const auto others = read_module_file(cables("", rows, "n2 mlx5_0"), "f");
  CHECK(others[0].host == "n2");
  CHECK(others[1].host == "n1");
  CHECK(others[1].port == "mlx5_0/1");
}
