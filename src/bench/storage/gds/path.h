#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/messages/said.h"
#include "sys/os/fs_root.h"

namespace cb::gds {

// Requests that the nvidia-fs module has served since it was loaded, by
// /proc/driver/nvidia-fs/stats (the numbers behind "Reads … n=", "Writes … n=" and "Batches … n=");
// nothing if the module is not loaded.
std::optional<uint64_t> nvfs_requests(std::string_view stats);

// What the kernel counted at one moment.
struct Counters {
  std::optional<uint64_t> nvfs;         // for the whole host
  bool nvfs_counts = false;             // its statistics are switched on
  std::optional<uint64_t> posix_bytes;  // of this process by read and write calls (rchar + wchar)
};
// nvidia-fs below `fs`, the process's own counters from the machine.
Counters read_counters(const FsRoot& fs);

enum class Path { nvidia_fs, compatibility, unproven };

// Which way `bytes` really went. Compatibility mode is read and write calls plus a copy: it shows
// as at least half of the bytes in the process's own counters. The direct path shows as requests
// that nvidia-fs served. Neither: nothing is proven (peer-to-peer without nvidia-fs is not counted
// anywhere that can be read).
struct Evidence {
  Path path = Path::unproven;
  std::optional<double> posix_share;  // of the bytes
  Said text;
};
Evidence judge(const Counters& before, const Counters& after, uint64_t bytes);

}  // namespace cb::gds
