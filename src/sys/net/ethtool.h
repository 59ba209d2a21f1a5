#pragma once

#include <map>
#include <string>

namespace cb {

// The driver's statistics of an interface (`ethtool -S`); empty where it has none or they cannot be
// read. Needs no rights.
std::map<std::string, double> interface_statistics(const std::string& interface);

}  // namespace cb
