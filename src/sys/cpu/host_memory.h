#pragma once

#include <cstdint>
#include <optional>

#include "sys/os/fs_root.h"

namespace cb {

// Returns the bytes that this host can still give to its processes: MemAvailable, or less if the
// control group's limit (version 1 or 2) leaves less. The group's idle page cache counts as free.
// Nothing if it cannot be read.
std::optional<uint64_t> available_memory_bytes(const FsRoot& fs);

}  // namespace cb
