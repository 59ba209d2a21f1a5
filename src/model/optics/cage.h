// Ports of one cage share a module, and each of them tells of it. Pure.
#pragma once

#include "model/optics/audit.h"

namespace cb {

// True if both tell one maker, part and serial number. A copy of a module does that too.
bool is_one_serial(const OpticalModule& a, const OpticalModule& b);

// True if two readings, a moment apart, can be of one module: the same lanes, flags, states and
// findings; 2 °C, a decibel of light and a tenth of bias at most between them.
bool reads_alike(const OpticalModule& a, const OpticalModule& b);

}  // namespace cb
