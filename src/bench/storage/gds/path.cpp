#include "bench/storage/gds/path.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

namespace cb::gds {
namespace {

constexpr double kMostlyPosix = 0.5;

bool begins(std::string_view line, std::string_view word) {
  const size_t at = line.find_first_not_of(" \t");
  return at != std::string_view::npos && line.substr(at).starts_with(word);
}

// The number behind "n=".
uint64_t n_of(const std::string& line) {
  const size_t at = line.find("n=");
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + 2, nullptr, 10);
}

std::optional<uint64_t> posix_bytes() {
  std::ifstream in("/proc/self/io");
  std::string key;
  uint64_t out = 0;
  int found = 0;
  for (uint64_t value = 0; in >> key >> value;) {
    if (key != "rchar:" && key != "wchar:") continue;
    out += value;
    ++found;
  }
  return found == 2 ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> nvfs_requests(std::string_view stats) {
  std::istringstream in{std::string(stats)};
  bool found = false;
  uint64_t out = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find(" n=") == std::string::npos) continue;
    if (!begins(line, "Reads") && !begins(line, "Writes") && !begins(line, "Batches")) continue;
    out += n_of(line);
    found = true;
  }
  return found ? std::optional(out) : std::nullopt;
}

Counters read_counters(const FsRoot& fs) {
  const auto stats = fs.text("/proc/driver/nvidia-fs/stats");
  const auto on = fs.integer("/sys/module/nvidia_fs/parameters/rw_stats_enabled");
  return {.nvfs = stats ? nvfs_requests(*stats) : std::nullopt,
          .nvfs_counts = on.value_or(0) != 0,
          .posix_bytes = posix_bytes()};
}

Evidence judge(const Counters& before, const Counters& after, uint64_t bytes) {
  Evidence out;
  if (before.posix_bytes && after.posix_bytes && bytes > 0)
    out.posix_share =
        static_cast<double>(*after.posix_bytes - *before.posix_bytes) / static_cast<double>(bytes);
  if (out.posix_share && *out.posix_share >= kMostlyPosix) {
    out.path = Path::compatibility;
    out.text = said("gds.compat", fmt::format("{:.0f}", std::min(*out.posix_share, 1.0) * 100));
  } else if (before.nvfs && after.nvfs && *after.nvfs > *before.nvfs) {
    out.path = Path::nvidia_fs;
    out.text = said("gds.served", *after.nvfs - *before.nvfs);
  } else if (!after.nvfs) {
    out.text = said("gds.no_module");
  } else if (!after.nvfs_counts) {
    out.text = said("gds.no_stats");
  } else {
    out.text = said("gds.no_counts");
  }
  return out;
}

}  // namespace cb::gds
