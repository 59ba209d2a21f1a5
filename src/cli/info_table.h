#pragma once

#include <span>
#include <string>

#include "core/inventory.h"

namespace cb {

// Shows people what the hosts consist of. For one host, its whole inventory. For several, the
// inventory of the most usual host, then what differs and which hosts are odd. Safe for a terminal
// whatever the inventories hold.
std::string info_table(std::span<const HostInventory> hosts);

}  // namespace cb
