// Optical modules against the limits of their makers, and against those of the same part number.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "model/optics/module.h"

namespace cb {

// A module in a port of a host, and what the port has counted in a window.
struct FittedModule {
  std::string host, port;  // "n1", "eth0"
  std::optional<OpticalModule> module = {};
  Said why_not = {};  // it could not be read
  double window_seconds = 0;
  std::optional<double> bits_per_second = {};
  // Within the window; absent: not counted by this driver.
  std::optional<double> corrected_bits = {}, uncorrectable_blocks = {}, link_downs = {};
};

struct ModuleFinding {
  std::string kind, host, port;
  Said what;  // with the next step
};

struct ModuleAudit {
  std::vector<ModuleFinding> findings = {};
  // Kinds for which every module was read, and that concern at least one of them.
  std::set<std::string> judged = {};
};

// Kinds:
//   module_alarm    a flag of the module, or a value beyond its maker's alarm limit
//   module_warning  the same of warning limits
//   module_state    a CMIS module that is not ready, or a lane with light that is not activated
//   lane_spread     more than kMostSpread decibels between the lanes of one module, received, or a
//                   lane in use without light
//   error_rate      more than kMostErrors bits in error before correction
//   uncorrectable   blocks that correction could not repair, in the window
//   flaps           links that went down in the window
//   module_outlier  far from the median of at least kEnoughModules with one part number: 10 °C
//                   hotter, 3 dB less light received, 1.3 times the bias
ModuleAudit audit_modules(const std::vector<FittedModule>& modules);
std::vector<std::string> module_kinds();

constexpr double kMostSpread = 3;     // decibels; the module's own accuracy (SFF-8636, 6.2.4)
constexpr double kMostErrors = 1e-5;  // of bits
constexpr size_t kEnoughModules = 8;

// True if the module tells what module_alarm is judged by: temperature, light, and alarm limits of
// all it measures; or if it is copper. Where `alarm` is false also warning limits: module_warning.
bool tells_values(const OpticalModule& module, bool alarm);
// False for a CMIS module whose state nobody told. SFF-8636 and copper have none.
bool tells_state(const OpticalModule& module);
// Decibels between the most and the least light received, over lanes with light.
std::optional<double> lane_spread(const OpticalModule& module);
// Decibels of the weakest lane above the maker's low warning limit, received.
std::optional<double> receive_margin(const OpticalModule& module);
// Errors per bit before correction: what the module tells of its worst lane; else the corrected
// bits of the window over the bits in it.
std::optional<double> error_rate(const FittedModule& fitted);
// What a window without any corrected bit shows with 95 % confidence: 3 over its bits.
std::optional<double> shown_error_rate(const FittedModule& fitted);

}  // namespace cb
