#pragma once

#include <string>
#include <vector>

#include "core/inventory.h"
#include "core/profile.h"

namespace cb {

enum class Fit {
  met,
  unmet,  // too few hosts, or no host has the parts
  mixed,  // some hosts have the parts and others do not: a defect or a wrong profile, never a
          // reason to leave the measurement out
  unknown  // the inventory of a host is missing
};

struct NeedsFit {
  Fit fit = Fit::met;
  std::string reason;  // "needs 2 hosts, has 1"; empty where met
};

// Whether `hosts` hosts with these inventories have what is needed: "hosts" counts the hosts, any
// other key the parts of that kind on every host.
NeedsFit check_needs(const Requirements& needs, size_t hosts,
                     const std::vector<HostInventory>& inventories);

// Both together; the greater number where both name a kind.
Requirements merge_needs(Requirements a, const Requirements& b);

}  // namespace cb
