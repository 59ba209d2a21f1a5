#pragma once

#include <string>

#include "core/inventory.h"
#include "sys/os/fs_root.h"

namespace cb {

// Returns this host's name as the kernel states it.
std::string host_name();

// Reads what the host consists of, below `fs` and without root rights. Never throws: what cannot be
// read is absent.
HostInventory collect_inventory(const FsRoot& fs, const std::string& host);

}  // namespace cb
