#include "sys/cpu/host_memory.h"

#include <algorithm>
#include <sstream>

namespace cb {
namespace {

std::optional<uint64_t> mem_available(const FsRoot& fs) {
  std::istringstream lines(fs.text("/proc/meminfo").value_or(""));
  uint64_t kib = 0;
  std::string name, rest;
  while (lines >> name >> kib) {
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(lines, rest);
  }
  return std::nullopt;
}

struct ControlGroup {
  const char* limit;
  const char* used;
  const char* statistics;
  const char* idle_cache;  // the statistic of page cache that the kernel drops first
};

constexpr ControlGroup kVersion2{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                                 "/sys/fs/cgroup/memory.stat", "inactive_file"};
constexpr ControlGroup kVersion1{"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                 "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                 "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"};

// 0 if it cannot be read: all page cache then counts as used.
long long idle_cache(const FsRoot& fs, const ControlGroup& group) {
  std::istringstream lines(fs.text(group.statistics).value_or(""));
  std::string name;
  long long bytes = 0;
  while (lines >> name >> bytes) {
    if (name == group.idle_cache) return std::max<long long>(0, bytes);
  }
  return 0;
}

// "max" (no limit) is not a number, so it gives nothing. Idle page cache is not in use, as in the
// kubelet's working set: a container that has read files is at its limit with it.
std::optional<uint64_t> left_in_group(const FsRoot& fs, const ControlGroup& group) {
  const auto most = fs.integer(group.limit);
  const auto now = fs.integer(group.used);
  if (!most || !now || *most < 0) return std::nullopt;
  const long long used = std::max<long long>(0, *now - idle_cache(fs, group));
  return static_cast<uint64_t>(std::max<long long>(0, *most - used));
}

}  // namespace

std::optional<uint64_t> available_memory_bytes(const FsRoot& fs) {
  std::optional<uint64_t> least = mem_available(fs);
  for (const ControlGroup& group : {kVersion2, kVersion1}) {
    const auto left = left_in_group(fs, group);
    if (left && (!least || *left < *least)) least = left;
  }
  return least;
}

}  // namespace cb
