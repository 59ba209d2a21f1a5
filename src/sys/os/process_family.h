#pragma once

#include <set>

#include "sys/os/fs_root.h"

namespace cb {

// Returns the process and all its descendants, as /proc knows them now; empty if it does not exist.
std::set<int> process_family(const FsRoot& fs, int pid);

}  // namespace cb
