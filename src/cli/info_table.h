#pragma once

#include <span>
#include <string>

#include "core/inventory.h"

namespace cb {

// What the hosts consist of, for people: the whole inventory of one host, and of several hosts that
// of the most usual one followed by what differs and which host is odd. Safe for a terminal
// whatever the inventories hold.
std::string info_table(std::span<const HostInventory> hosts);

}  // namespace cb
