#include "bench/host/gpu_users.h"

#include <algorithm>
#include <filesystem>

#include <unistd.h>

namespace cb {
namespace {

// "/dev/nvidia0", not "/dev/nvidiactl", which programs open that only look.
bool is_gpu(const std::string& target) {
  constexpr std::string_view prefix = "/dev/nvidia";
  return target.starts_with(prefix) && target.size() > prefix.size() &&
         target.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

bool holds_gpu(const std::filesystem::path& descriptors) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(descriptors, failed)) {
    std::error_code gone;
    if (is_gpu(std::filesystem::read_symlink(entry.path(), gone).string())) return true;
  }
  return false;
}

}  // namespace

std::vector<GpuUser> gpu_users(const FsRoot& fs) {
  std::vector<GpuUser> out;
  const std::string self = std::to_string(::getpid());
  for (const std::string& pid : fs.entries("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == self) continue;
    if (holds_gpu(fs.resolve("/proc/" + pid + "/fd")))
      out.push_back({pid, fs.text("/proc/" + pid + "/comm").value_or("?")});
  }
  return out;
}

}  // namespace cb
