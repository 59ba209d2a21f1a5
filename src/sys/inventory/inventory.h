#pragma once

#include <string>

#include "core/inventory.h"
#include "sys/os/fs_root.h"

namespace cb {

// This host's name as its kernel gives it.
std::string host_name();

// What the host consists of, read below `fs` without root rights. Never throws: what cannot be read
// is absent.
HostInventory collect_inventory(const FsRoot& fs, const std::string& host);

}  // namespace cb
