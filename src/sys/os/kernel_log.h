#pragma once

#include <optional>
#include <string>

#include "sys/os/fs_root.h"

namespace cb {

// The kernel's log as far as its ring buffer reaches back (/dev/kmsg), a line a message:
// "priority,sequence,microseconds since boot,flags;text". If it cannot be read (that needs root, or
// dmesg_restrict = 0): nothing, and `why` is set.
std::optional<std::string> read_kernel_log(std::string& why, const FsRoot& fs = FsRoot());

}  // namespace cb
