#pragma once

#include <functional>

#include "bench/network/subnet/mad_exchange.h"
#include "model/optics/audit.h"

namespace cb::net {

struct SubnetModulesWish {
  uint64_t management_key = 0;  // M_Key
  uint64_t vendor_key = 0;      // of the vendor's class
};

struct SubnetModules {
  // Of every port of a switch that has a cable, or whose link is up and which was not read.
  std::vector<FittedModule> modules;
  size_t switches = 0;
  std::vector<Said> notes;  // what was not read, with the next step
};

// Walks the subnet and reads the register of each switch port's module. Only questions are sent.
// `wait` sleeps that many seconds before busy devices are asked again.
SubnetModules read_subnet_modules(MadExchange& exchange, const SubnetModulesWish& wish,
                                  const std::function<void(double seconds)>& wait);

}  // namespace cb::net
