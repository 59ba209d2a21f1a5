#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/inventory.h"
#include "core/messages/texts.h"
#include "core/profile.h"

namespace cb {

// unmet: too few hosts, or no host has the parts. mixed: some hosts have the parts and others do
// not, which is a defect or a wrong profile, never a reason to leave the measurement out. unknown:
// the inventory of a host is missing.
enum class Fit { met, unmet, mixed, unknown };

struct NeedsFit {
  Fit fit = Fit::met;
  std::optional<Message> why = {};  // "needs 2 hosts, has 1"; nothing if the needs are met
  Said reason() const { return why ? Said(*why) : Said(); }
};

// Checks whether `hosts` hosts with these inventories have what is needed: "hosts" and
// "hosts_at_most" count the hosts; any other key counts the parts of that kind on every host.
NeedsFit check_needs(const Requirements& needs, size_t hosts,
                     const std::vector<HostInventory>& inventories);

}  // namespace cb
