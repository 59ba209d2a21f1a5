// The page of an optical module that NVIDIA's switches and adapters keep in the register PDDR (page
// 3, module information). Layout: register_access_table.adb of mstflint. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "model/optics/module.h"

namespace cb {

constexpr size_t kModulePageBytes = 208;
using ModulePage = std::array<uint8_t, kModulePageBytes>;

// False if the device says that no cable is in the port.
bool is_plugged(const ModulePage& page);

// `exact` was asked for with light in microwatts, `coarse` with light in whole decibels over a
// milliwatt. Firmware that knows no microwatts answers both alike: light is then of the nearest
// decibel, and is not compared with limits; of a module without limits of light nothing shows the
// unit, and light is absent. Limits are those of alarms; no warnings are told. Nothing for a kind
// that is not known, a module without part and serial number, and two pages of different modules.
std::optional<OpticalModule> decode_module_page(const ModulePage& exact, const ModulePage& coarse);

}  // namespace cb
