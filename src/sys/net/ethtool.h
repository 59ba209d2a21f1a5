#pragma once

#include <map>
#include <optional>
#include <string>

namespace cb {

// Returns the driver's statistics of an interface (`ethtool -S`); empty if there are none or they
// cannot be read. Needs no rights.
std::map<std::string, double> interface_statistics(const std::string& interface);

struct InterfacePause {
  bool receive = false, send = false;
};
// Whether the interface obeys and sends pause frames of the whole link (`ethtool -a`); nothing if
// its driver does not say. Needs no rights.
std::optional<InterfacePause> interface_pause(const std::string& interface);

}  // namespace cb
