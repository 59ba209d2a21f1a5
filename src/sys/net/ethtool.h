#pragma once

#include <map>
#include <string>

namespace cb {

// Returns the driver's statistics of an interface (`ethtool -S`); empty if there are none or they
// cannot be read. Needs no rights.
std::map<std::string, double> interface_statistics(const std::string& interface);

}  // namespace cb
