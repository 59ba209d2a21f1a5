// What an optical module says of itself, from the bytes of its memory. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cb {

// The memory of a module: 128 lower bytes, and upper pages of 128 bytes by (bank, page).
struct ModuleMemory {
  std::string lower;
  std::map<std::pair<int, int>, std::string> pages = {};

  // The upper page; empty if it was not read.
  std::string_view page(int number, int bank = 0) const;
};

// Pages that a module of that kind may have beyond the lower memory, to be read in this order.
// Judged by its first bytes; empty if the kind is not known.
std::vector<std::pair<int, int>> pages_to_read(std::string_view lower);

// Limits of the module's own maker, in the unit of the value; absent: not told.
struct ModuleLimits {
  std::optional<double> high_alarm = {}, low_alarm = {}, high_warning = {}, low_warning = {};
};

struct ModuleLane {
  std::optional<double> receive_watts = {}, send_watts = {}, bias_amperes = {};
  std::optional<double> media_ber = {};  // before forward error correction
  std::optional<double> host_ber = {};
};

// A flag that the module has raised: "rx_power" lane 3 high alarm.
struct ModuleFlag {
  std::string what;   // "rx_loss", "tx_fault", "temperature", "supply", "rx_power" …
  int lane = 0;       // from 1; 0: of the module
  bool alarm = true;  // false: a warning
};

struct OpticalModule {
  std::string kind;  // "QSFP28", "OSFP" …
  std::string vendor, part_number, revision, serial, date, firmware;
  bool copper = false;  // or otherwise without light: no power is expected
  std::optional<double> celsius = {}, volts = {};
  std::vector<ModuleLane> lanes = {};
  std::optional<ModuleLimits> celsius_limits = {}, volt_limits = {}, receive_limits = {},
                              send_limits = {}, bias_limits = {};
  bool bias_unread = false;  // it is measured, in a unit that is not known
  std::vector<ModuleFlag> flags = {};
  bool cmis = false;              // the module and its data paths have a state
  std::optional<int> state = {};  // CMIS: 3 is ready, 5 a fault
  // Before correction, of the port as a whole, where no lane's is told.
  std::optional<double> media_ber = {};
  // CMIS: lanes whose data path is not activated, from 1.
  std::vector<int> inactive_lanes = {};
};

// Decodes SFF-8636 (QSFP+, QSFP28, QSFP56) and CMIS (QSFP-DD, OSFP, QSFP112). Nothing for another
// kind and for a memory without lower bytes or page 0.
std::optional<OpticalModule> decode_module(const ModuleMemory& memory);

// A decimal floating point number of 16 bits of CMIS (5.4, 8.2.10): mantissa of 11 bits times ten
// to the exponent of 5 bits less 24.
double cmis_f16(unsigned word);

// True for the names that SFF-8024 and programs give to kinds that are managed by CMIS.
bool is_cmis_kind(std::string_view name);

// 10 log10(watts / 1 mW); nothing for no light.
std::optional<double> dbm(double watts);

}  // namespace cb
