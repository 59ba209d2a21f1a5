// What SONiC prints of a switch's modules. Texts composed here after the grammar of its programs.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "core/error.h"
#include "import/modules/module_files.h"

using namespace cb;

namespace {

std::string identity(const std::string& serial, const std::string& more = "") {
  return "        Active Firmware: 2.1.1\n" + more +
         "        Identifier: QSFP28 or later\n"
         "        Specification compliance:\n"
         "                10/40G Ethernet Compliance Code: 40G Active Cable (XLPPI)\n"
         "        Vendor Date Code(YYYY-MM-DD Lot): 2026-11-02\n"
         "        Vendor Name: Example\n"
         "        Vendor PN: EX-100G-SR4\n"
         "        Vendor Rev: AC\n"
         "        Vendor SN: " +
         serial + "\n";
}

const std::string kChannels =
    "        ChannelMonitorValues:\n"
    "                RX1Power: 0.3802dBm\n"
    "                RX2Power: -10.0dBm\n"
    "                RX3Power: -infdBm\n"
    "                TX1Bias: 6.7500mA\n"
    "                TX1Power: -3.0103dBm\n"
    "                TX2Bias: 7.5000mA\n";
const std::string kChannelLimits =
    "        ChannelThresholdValues:\n"
    "                RxPowerHighAlarm  : 3.4001dBm\n"
    "                RxPowerHighWarning: 2.4000dBm\n"
    "                RxPowerLowAlarm   : -13.5067dBm\n"
    "                RxPowerLowWarning : -10.0000dBm\n"
    "                TxBiasHighAlarm   : 10.0000mA\n"
    "                TxBiasHighWarning : 9.5000mA\n"
    "                TxBiasLowAlarm    : 0.5000mA\n"
    "                TxBiasLowWarning  : 1.0000mA\n";
const std::string kModule =
    "        ModuleMonitorValues:\n"
    "                Requested Tx Power: -8.5dBm\n"
    "                Temperature: -3.9258C\n"
    "                Vcc: 3.2824Volts\n"
    "        ModuleThresholdValues:\n"
    "                TempHighAlarm  : 75.0000C\n"
    "                TempHighWarning: 70.0000C\n"
    "                TempLowAlarm   : -5.0000C\n"
    "                TempLowWarning : 0.0000C\n"
    "                VccHighAlarm   : 3.6300Volts\n"
    "                VccHighWarning : 3.4650Volts\n"
    "                VccLowAlarm    : 2.9700Volts\n"
    "                VccLowWarning  : 3.1349Volts\n";

std::string port(const std::string& name, const std::string& serial) {
  return name + ": SFP EEPROM detected\n" + identity(serial) + kChannels + kChannelLimits +
         kModule + "\n";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string refusal_of(const std::string& text) {
  try {
    read_module_file(text, "leaf-1.txt");
  } catch (const UsageError& e) {
    return e.problems().text();
  }
  return "";
}
bool refuses(const std::string& text, const std::string& word) {
  const std::string said = refusal_of(text);
  INFO(said);
  return said.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("a port of SONiC: identity, readings and limits by their units") {
  const auto all = read_module_file(port("Ethernet8", "S8"), "d/leaf-1.txt");
  REQUIRE(all.size() == 1);
  CHECK(all[0].host == "leaf-1");
  CHECK(all[0].port == "Ethernet8");
  const OpticalModule& o = *all[0].module;
  CHECK(o.kind == "QSFP28");
  CHECK(o.vendor == "Example");
  CHECK(o.part_number == "EX-100G-SR4");
  CHECK(o.revision == "AC");
  CHECK(o.serial == "S8");
  CHECK(o.date == "2026-11-02");
  CHECK(o.firmware == "2.1.1");
  CHECK(!o.copper);
  CHECK(*o.celsius == -3.9258);
  CHECK(*o.volts == 3.2824);
  REQUIRE(o.lanes.size() == 3);
  CHECK(*o.lanes[0].receive_watts == doctest::Approx(1.0915e-3).epsilon(1e-4));
  CHECK(*o.lanes[1].receive_watts == doctest::Approx(1e-4));
  CHECK(*o.lanes[2].receive_watts == 0);  // -inf: no light, and not "not told"
  CHECK(*o.lanes[0].send_watts == doctest::Approx(5e-4).epsilon(1e-5));
  CHECK(!o.lanes[1].send_watts);
  CHECK(*o.lanes[1].bias_amperes == doctest::Approx(7.5e-3));
  CHECK(!o.lanes[2].bias_amperes);
  CHECK(*o.receive_limits->low_warning == doctest::Approx(1e-4));
  CHECK(o.receive_limits->low_alarm < o.receive_limits->low_warning);
  CHECK(*o.bias_limits->high_alarm == doctest::Approx(1e-2));
  CHECK(*o.bias_limits->low_warning == doctest::Approx(1e-3));
  CHECK(!o.send_limits);
  CHECK(o.celsius_limits->high_alarm == 75);
  CHECK(o.celsius_limits->low_alarm == -5);
  CHECK(o.celsius_limits->high_warning == 70);
  CHECK(o.celsius_limits->low_warning == 0);
  CHECK(o.volt_limits->low_warning == 3.1349);
}

TEST_CASE("the limits of a switch's print judge: both sides of the low warning") {
  const auto findings = [](const std::string& level) {
    std::string text = replaced(port("Ethernet0", "S"), "RX1Power: 0.3802", "RX1Power: " + level);
    text = replaced(text, "                RX2Power: -10.0dBm\n                RX3Power: -infdBm\n",
                    "");
    text = replaced(text, "-3.9258", "30");
    return audit_modules(read_module_file(text, "s.txt")).findings.size();
  };
  CHECK(findings("-9.9999") == 0);
  CHECK(findings("-10.0001") == 1);
}

TEST_CASE("a whole switch: ports without a module and of RJ45 are left out") {
  const std::string text = "admin@leaf-1:~$ show interfaces transceiver eeprom -d\n" +
                           port("Ethernet0", "S0") +
                           "Ethernet4: SFP EEPROM Not detected\n\n"
                           "Ethernet8: SFP EEPROM is not applicable for RJ45 port\n\n"
                           "Ethernet12: SFP EEPROM not detected\n\n" +
                           port("Ethernet16", "S16") + "admin@leaf-1:~$\n";
  const auto all = read_module_file(text, "leaf-1.txt");
  REQUIRE(all.size() == 2);
  CHECK(all[0].port == "Ethernet0");
  CHECK(all[1].port == "Ethernet16");
  CHECK(all[1].module->serial == "S16");
  CHECK(all[1].module->celsius_limits);
  CHECK(read_module_file("Ethernet4: SFP EEPROM Not detected\n", "leaf-1.txt").empty());
  const auto named = read_module_file(port("Ethernet0", "S"), "leaf-1@Ethernet0.txt");
  CHECK(named[0].host == "leaf-1");
  // Carriage returns of a terminal's log change nothing.
  std::string carriage;
  for (const char c : text) carriage += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(read_module_file(carriage, "leaf-1.txt").size() == 2);
  CHECK(*read_module_file(carriage, "leaf-1.txt")[1].module->celsius == -3.9258);
}

TEST_CASE("an SFP has one lane under names without a number") {
  const std::string text =
      "Ethernet0: SFP EEPROM detected\n" + identity("S") +
      "        MonitorData:\n                RXPower: -20.0dBm\n                TXBias: 6.5mA\n"
      "                TXPower: 0.5mW\n                Temperature: 30C\n"
      "        ThresholdData:\n                TempHighAlarm  : 75.0C\n                "
      "TempHighWarning: 70.0C\n"
      "                TempLowAlarm   : -5.0C\n                TempLowWarning : 0.0C\n\n";
  const OpticalModule o = *read_module_file(text, "s.txt")[0].module;
  REQUIRE(o.lanes.size() == 1);
  CHECK(*o.lanes[0].receive_watts == doctest::Approx(1e-5));
  CHECK(*o.lanes[0].send_watts == doctest::Approx(5e-4));
  CHECK(*o.lanes[0].bias_amperes == doctest::Approx(6.5e-3));
}

TEST_CASE("what a switch does not tell is absent, and no zero") {
  std::string text = port("Ethernet0", "S");
  for (const char* absent : {"N/A", "Unknown", ""}) {
    const OpticalModule o =
        *read_module_file(replaced(text, "RX2Power: -10.0dBm", std::string("RX2Power: ") + absent),
                          "s.txt")[0]
             .module;
    CHECK(!o.lanes[1].receive_watts);
    CHECK(!audit_modules({{"s", "p", o}}).judged.contains("module_alarm"));
  }
  // One limit of four that is not told leaves the others.
  text = replaced(text, "RxPowerHighWarning: 2.4000dBm", "RxPowerHighWarning: N/A");
  const auto part = *read_module_file(text, "s.txt")[0].module->receive_limits;
  CHECK(!part.high_warning);
  CHECK(*part.low_warning == doctest::Approx(1e-4));
  CHECK(part.high_alarm);
  CHECK(read_module_file(replaced(text, "2.1.1", "N/A"), "s.txt")[0].module->firmware.empty());
  // Without -d there is an identity and nothing else, which passes nothing.
  const auto bare =
      read_module_file("Ethernet0: SFP EEPROM detected\n" + identity("S") + "\n", "s.txt");
  CHECK(bare[0].module->serial == "S");
  CHECK(!audit_modules(bare).judged.contains("module_alarm"));
}

TEST_CASE("copper is known by its code, cable or technology, and has no light") {
  const std::string optical = port("Ethernet0", "S");
  const char* code = "40G Active Cable (XLPPI)";
  CHECK(read_module_file(replaced(optical, code, "100GBASE-CR4, 25GBASE-CR CA-25G-L"), "s.txt")[0]
            .module->copper);
  for (const char* line : {"        Media Interface Technology: Copper cable unequalized\n",
                           "                SFP+CableTechnology: Passive Cable\n",
                           "        Specification compliance: passive_copper_media_interface\n",
                           "        Application Advertisement: 400G CR8 - Host Assign (0x1) - "
                           "Copper cable - Media\n"}) {
    const auto all = read_module_file("Ethernet0: SFP EEPROM detected\n" + identity("S", line) +
                                          kChannels + kChannelLimits + kModule,
                                      "s.txt");
    CHECK_MESSAGE(all[0].module->copper, line);
    CHECK(all[0].module->lanes.empty());
    CHECK(audit_modules(all).findings.empty());
    CHECK(audit_modules(all).judged.empty());
  }
  CHECK(!read_module_file(replaced(optical, code, "100GBASE-SR4"), "s.txt")[0].module->copper);
}

TEST_CASE("lanes behind the fibres belong to no link where they are dark both ways") {
  std::string counts = "        Host Lane Count: 8\n        Media Lane Count: 4\n";
  const auto lanes = [&](const std::string& seventh, const std::string& bias) {
    std::string text = "Ethernet0: SFP EEPROM detected\n" + identity("S", counts) +
                       "        ChannelMonitorValues:\n";
    for (int i = 1; i <= 8; ++i)
      text += "                RX" + std::to_string(i) + "Power: " +
              (i <= 4   ? "1.0"
               : i == 7 ? seventh
                        : "-inf") +
              "dBm\n                TX" + std::to_string(i) + "Bias: " +
              (i <= 4   ? "7"
               : i == 7 ? bias
                        : "0.0") +
              "mA\n";
    return read_module_file(text + kChannelLimits + kModule, "s.txt")[0].module->lanes.size();
  };
  CHECK(lanes("-inf", "0") == 4);
  CHECK(lanes("-40.0", "0") == 4);
  CHECK(lanes("-39.0", "0") == 7);  // light
  CHECK(lanes("-inf", "7") == 7);   // a laser that is on, and nothing received: to be found
  // Two applications of four lanes have eight: the second one's lanes are dark, and judged.
  counts = "        Host Lane Count: 4\n        Media Lane Count: 4\n";
  CHECK(lanes("-inf", "0") == 4);  // a QSFP has four host lanes
  const std::string dense = "QSFP-DD Double Density 8X Pluggable Transceiver";
  const auto dense_lanes = [&](const std::string& more) {
    std::string text = replaced("Ethernet0: SFP EEPROM detected\n" + identity("S", more),
                                "QSFP28 or later", dense) +
                       "        ChannelMonitorValues:\n";
    for (int i = 1; i <= 8; ++i)
      text += "                RX" + std::to_string(i) + "Power: " + (i == 1 ? "1.0" : "-inf") +
              "dBm\n";
    return read_module_file(text + kChannelLimits + kModule, "s.txt")[0].module->lanes.size();
  };
  CHECK(dense_lanes(counts) == 8);
  CHECK(dense_lanes("        Host Lane Count: 2\n        Media Lane Count: 1\n") == 4);
  CHECK(dense_lanes("        Host Lane Count: 8\n        Media Lane Count: 4\n") == 4);
  CHECK(dense_lanes("        Media Lane Count: 1\n") == 8);  // of how many applications?
}

TEST_CASE("a value without its unit, or with another one, is refused with its line") {
  const std::string text = port("Ethernet0", "S");
  for (const auto& one :
       std::initializer_list<std::pair<const char*, const char*>>{{"0.3802dBm", "0.3802"},
                                                                  {"0.3802dBm", "0.3802mA"},
                                                                  {"0.3802dBm", "0.38mWdBm"},
                                                                  {"6.7500mA", "6750uA"},
                                                                  {"6.7500mA", "-6.75mA"},
                                                                  {"-3.9258C", "25F"},
                                                                  {"3.2824Volts", "3282mV"},
                                                                  {"0.3802dBm", "infdBm"},
                                                                  {"0.3802dBm", "nandBm"},
                                                                  {"0.3802dBm", "1e9dBm"},
                                                                  {"3.4001dBm", "highdBm"}}) {
    const char* to = one.second;
    const std::string said = refusal_of(replaced(text, one.first, to));
    CHECK_MESSAGE(said.find("line ") != std::string::npos, to);
    CHECK_MESSAGE(said.find(to) != std::string::npos, said);
  }
  CHECK(refuses(replaced(text, "0.3802dBm", "0.3802"), "line 12"));
}

TEST_CASE("cut off, begun in the middle, foreign, or a port twice: refused") {
  const std::string text = port("Ethernet0", "S0") + port("Ethernet4", "S4");
  CHECK(refuses(text.substr(0, text.size() - 2), "cut off"));
  CHECK(refuses(text.substr(0, text.size() - 5), "VccLowWarning"));
  // At the end of any line of the last port that leaves a part of it out.
  for (const char* last :
       {"Identifier: QSFP28", "ChannelMonitorValues", "Vendor SN: S4", "ChannelThresholdValues",
        "ModuleThresholdValues", "TempHighWarning", "VccLowAlarm"}) {
    const size_t at = text.rfind(last);
    CHECK_MESSAGE(refuses(text.substr(0, text.rfind('\n', at) + 1), "cut off"), last);
  }
  CHECK(refuses(text.substr(text.find("        Vendor Name")), "line 1"));
  CHECK(refuses(text.substr(text.find("        ChannelMonitorValues")), "no port"));
  CHECK(refuses(text + port("Ethernet0", "S9"), "Ethernet0 stands in this file twice"));
  CHECK(refuses(replaced(text, "RX2Power", "RX1Power"), "RX1Power stands twice"));
  // Alone, a port's block is whole with all limits, or with an empty line behind it.
  const std::string alone = port("Ethernet0", "S0");
  for (const char* last : {"Vendor SN: S0", "ModuleThresholdValues", "TempLowWarning"}) {
    const size_t at = alone.find('\n', alone.find(last));
    CHECK_MESSAGE(refuses(alone.substr(0, at + 1), "cut off"), last);
  }
  CHECK(read_module_file(alone.substr(0, alone.size() - 1), "s.txt").size() == 1);
  CHECK(read_module_file(replaced(alone, "VccLowWarning  : 3.1349Volts", "VccLowWarning  : N/A"),
                         "s.txt")
            .size() == 1);
  CHECK(refuses(replaced(text, "RX2Power", "Rx2Power"), "line 13"));
  CHECK(refuses(replaced(text, "RX2Power", "Rx2Power"), "Rx2Power is no reading of a lane"));
  CHECK(refuses("leaf-1 says Ethernet0: SFP EEPROM detected\n", "no line begins"));
  CHECK(refuses("Interface Ethernet0\n  Temperature: 30C\n", "ethtool"));
}

TEST_CASE("the same file may hold the status of ports: flags, states and data paths") {
  const std::string light =
      replaced(port("Ethernet0", "S0"), "RX3Power: -infdBm", "RX3Power: -4.0dBm");
  const auto with = [&](const std::string& lines) {
    const auto all =
        read_module_file(light + "Ethernet0: \n        CMIS State (SW): READY\n" + lines +
                             "\nEthernet4: Transceiver status info not applicable\n",
                         "s.txt");
    REQUIRE(all.size() == 1);
    return *all[0].module;
  };
  const OpticalModule quiet = with(
      "        Tx fault flag on media lane 1: False\n        Current module state: ModuleReady\n"
      "        Data path state indicator on host lane 1: DataPathActivated\n"
      "        Temperature high alarm flag: N/A\n");
  CHECK(quiet.flags.empty());
  CHECK(quiet.inactive_lanes.empty());
  CHECK(*quiet.state == 3);
  CHECK(*with("        Current module state: ModuleFault\n").state == 5);
  CHECK(!with("        Current module state: N/A\n").state);
  CHECK(with("        Data path state indicator on host lane 2: DataPathDeactivated\n"
             "        Data path state indicator on host lane 8: DataPathDeactivated\n")
            .inactive_lanes == std::vector<int>{2});
  const OpticalModule loud = with(
      "        Tx fault flag on media lane 1: True\n"
      "        Rx loss of signal flag on media lane 2: True\n"
      "        Rx loss of signal flag on media lane 7: True\n"
      "        Tx loss of signal flag on host lane 3: True\n"
      "        Tx clock and data recovery loss of lock on host lane 1: True\n"
      "        Rx clock and data recovery loss of lock on media lane 2: True\n"
      "        Temperature low warning flag: True\n        Vcc high alarm flag: True\n"
      "        Tx power low alarm flag on lane 1: True\n"
      "        Tx power low warning flag on lane 1: True\n"
      "        Rx power high warning flag on lane 3: True\n"
      "        Tx bias high alarm flag on lane 2: True\n");
  std::string flags;
  for (const ModuleFlag& f : loud.flags)
    flags += f.what + " " + std::to_string(f.lane) + (f.alarm ? " alarm; " : " warning; ");
  CHECK(flags ==
        "bias 2 alarm; rx_loss 2 alarm; rx_power 3 warning; rx_unlocked 2 alarm; supply 0 alarm; "
        "temperature 0 warning; tx_fault 1 alarm; tx_loss 3 alarm; tx_power 1 alarm; tx_unlocked 1 "
        "alarm; ");
  // Before the block of the port it says the same.
  CHECK(read_module_file("Ethernet0:\n        Vcc high alarm flag: True\n\n" + light, "s.txt")[0]
            .module->flags.size() == 1);
  CHECK(refuses(light + "Ethernet0:\n        Vcc high alarm flag: Yes\n", "Vcc high alarm flag"));
  CHECK(refuses(light + "Ethernet0:\n        Current module state: Odd\n", "line 42"));
  CHECK(refuses(light + "Ethernet0:\n\nEthernet0:\n", "Ethernet0 stands in this file twice"));
}

TEST_CASE("a fault that no table lists is a flag by its words") {
  const auto flags = [](const std::string& line) {
    const auto all =
        read_module_file(port("Ethernet0", "S0") + "Ethernet0:\n        " + line + "\n", "s.txt");
    std::string out;
    for (const ModuleFlag& f : all[0].module->flags)
      out += f.what + (f.alarm ? " alarm" : " warning");
    return out;
  };
  CHECK(flags("Module firmware fault: True") == "Module firmware fault alarm");
  CHECK(flags("Datapath firmware fault: True") == "Datapath firmware fault alarm");
  CHECK(flags("Tx adaptive input equalization fault flag on host lane 1: True") ==
        "Tx adaptive input equalization fault flag on host lane 1 alarm");
  CHECK(flags("Laser temperature high warning flag: True") ==
        "Laser temperature high warning flag warning");
  CHECK(flags("Module firmware fault: False").empty());
  CHECK(flags("Reason of entering the module fault state: No Fault detected").empty());
  CHECK(flags("Module state changed: True").empty());
}

TEST_CASE("a status without a block: its fault is judged, else the port is not read") {
  const auto second = [](const std::string& lines) {
    const auto all =
        read_module_file(port("Ethernet0", "S0") + "Ethernet8:\n" + lines, "leaf-1.txt");
    REQUIRE(all.size() == 2);
    CHECK(all[1].port == "Ethernet8");
    CHECK(all[1].host == "leaf-1");
    CHECK(!audit_modules(all).judged.contains("module_alarm"));
    return all[1];
  };
  const FittedModule faulty = second(
      "        Current module state: ModuleFault\n        Tx fault flag on media lane 1: True\n");
  CHECK(audit_modules({faulty}).findings.size() == 2);
  const FittedModule well = second("        Current module state: ModuleReady\n");
  CHECK(!well.module);
  CHECK(well.why_not.text().find("show interfaces transceiver eeprom -d") != std::string::npos);
  CHECK(!second("        Current module state: N/A\n").module);
  // An empty cage has no block that says so, and a prompt is no port.
  CHECK(read_module_file(port("Ethernet0", "S0") + "Ethernet4: SFP EEPROM Not detected\n\n" +
                             "Ethernet4:\n        Current module state: N/A\n\nleaf-1:\n",
                         "s.txt")
            .size() == 1);
  CHECK(refuses("Ethernet0:\n        Current module state: ModuleFault\n",
                "show interfaces transceiver eeprom -d >SWITCH.txt"));
}

TEST_CASE("a data path's host lanes stand for the media lanes of its application") {
  const std::string block = replaced(replaced(port("Ethernet0", "S0"), "QSFP28 or later",
                                              "QSFP-DD Double Density 8X Pluggable Transceiver"),
                                     "        Active Firmware",
                                     "        Host Lane Count: 2\n        Media Lane Count: 1\n"
                                     "        Active Firmware");
  const auto inactive = [&](const std::string& lanes) {
    std::string text = block + "Ethernet0:\n        Current module state: ModuleReady\n";
    for (const char lane : lanes)
      text += std::string("        Data path state indicator on host lane ") + lane +
              ": DataPathDeactivated\n";
    return read_module_file(text, "s.txt")[0].module->inactive_lanes;
  };
  CHECK(inactive("34") == std::vector<int>{2});
  CHECK(inactive("1256") == std::vector<int>{1, 3});
  CHECK(inactive("78").empty());  // a fourth lane is not told
}

TEST_CASE("a byte order mark is no part of the first port's name") {
  const auto all = read_module_file("\xef\xbb\xbf" + port("Ethernet0", "S0"), "s.txt");
  CHECK(all[0].port == "Ethernet0");
}

// A file that is damaged anywhere is refused or read into values that can be.
TEST_CASE("damaged prints are refused or give finite values") {
  std::mt19937 draw(11);
  const std::string whole = port("Ethernet0", "S0") + port("Ethernet4", "S4");
  int read = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 3; ++k) {
      const size_t at = draw() % text.size();
      if (draw() % 3 == 0)
        text.erase(at, draw() % 40);
      else if (draw() % 2 == 0)
        text[at] = static_cast<char>(draw() % 256);
      else
        text.insert(at, text.substr(draw() % text.size(), draw() % 60));
    }
    try {
      for (const FittedModule& m : read_module_file(text, "s.txt")) {
        REQUIRE(m.module);
        REQUIRE(m.module->lanes.size() <= 32);
        for (const ModuleLane& lane : m.module->lanes) {
          REQUIRE(std::isfinite(lane.receive_watts.value_or(0)));
          REQUIRE(lane.receive_watts.value_or(0) >= 0);
          REQUIRE(lane.bias_amperes.value_or(0) >= 0);
        }
      }
      ++read;
    } catch (const UsageError&) {
      ++refused;
    }
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}
