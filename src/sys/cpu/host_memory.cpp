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

// "max" (no limit) is not a number, so it gives nothing. Page cache counts as used although it can
// be reclaimed: the result is on the safe side.
std::optional<uint64_t> left_in_group(const FsRoot& fs, const char* limit, const char* used) {
  const auto most = fs.integer(limit);
  const auto now = fs.integer(used);
  if (!most || !now || *most < 0) return std::nullopt;
  return static_cast<uint64_t>(std::max<long long>(0, *most - *now));
}

}  // namespace

std::optional<uint64_t> available_memory_bytes(const FsRoot& fs) {
  std::optional<uint64_t> least = mem_available(fs);
  for (const auto& left :
       {left_in_group(fs, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        left_in_group(fs, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                      "/sys/fs/cgroup/memory/memory.usage_in_bytes")}) {
    if (left && (!least || *left < *least)) least = left;
  }
  return least;
}

}  // namespace cb
