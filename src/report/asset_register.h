#pragma once

#include <span>
#include <string>

#include "core/inventory.h"

namespace cb {

// Every piece with a serial number of its own, one line each, as CSV that read_delivery_list()
// reads: host, part, slot, serial, model, firmware, uuid. An absent value is an empty cell.
std::string render_asset_register(std::span<const HostInventory> hosts);

}  // namespace cb
