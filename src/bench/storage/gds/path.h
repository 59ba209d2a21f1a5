#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/messages/said.h"
#include "sys/os/fs_root.h"

namespace cb::gds {

// Number of requests that the nvidia-fs module has served since it was loaded, from the text of
// /proc/driver/nvidia-fs/stats (the sum of the numbers in "Reads … n=", "Writes … n=" and "Batches
// … n="). Nothing if the text has no such line.
std::optional<uint64_t> nvfs_requests(std::string_view stats);

// What the kernel has counted up to one moment.
struct Counters {
  std::optional<uint64_t> nvfs;         // requests served for the whole host
  bool nvfs_counts = false;             // nvidia-fs keeps statistics (rw_stats_enabled)
  std::optional<uint64_t> posix_bytes;  // bytes this process read and wrote (rchar + wchar)
};
// Reads nvidia-fs's counters below `fs`, the process's own ones from the machine.
Counters read_counters(const FsRoot& fs);

enum class Path { nvidia_fs, compatibility, unproven };

// Which way `bytes` really went. Compatibility mode consists of read and write calls and a copy:
// the process's own counters then show at least half of the bytes. The direct path shows as
// requests that nvidia-fs served. If neither shows, nothing is proven: no readable counter covers
// peer-to-peer transfers without nvidia-fs.
struct Evidence {
  Path path = Path::unproven;
  std::optional<double> posix_share;  // read and write calls' part of the bytes
  Said text;
};
Evidence judge(const Counters& before, const Counters& after, uint64_t bytes);

}  // namespace cb::gds
