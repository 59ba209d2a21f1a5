// A module's flags and readings against the limits of its maker. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/optics/module.h"

namespace cb {

// What is beyond a limit decides what to do next.
enum class ModuleQuantity { light, heat, supply, bias, module };

struct PastLimit {
  ModuleQuantity of = ModuleQuantity::light;
  std::string text;  // "rx -13.6 dBm (lane 2)"
};

// A raised flag, and a value beyond an alarm limit; of warnings what is beyond no alarm. Each limit
// that is told is compared. A pair of limits that are both zero is not set by its maker.
std::vector<PastLimit> past_limits(const OpticalModule& module, bool alarm);

// True if temperature, received light of every lane and their limits of that kind are told, and the
// limits of bias and supply where these are measured.
bool tells_limits(const OpticalModule& module, bool alarm);

// True if the received light of every lane is told.
bool tells_lanes(const OpticalModule& module);

// A CMIS module of four lanes tells of eight: those of which no data path is active and that send
// nothing belong to no link. `lane` is from 1.
bool is_lane_used(const OpticalModule& module, int lane);

// "-13.6 dBm", or "0 mW" without light.
std::string dbm_text(double watts);

}  // namespace cb
