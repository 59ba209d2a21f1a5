#include "bench/host/gpu_users.h"

#include <filesystem>
#include <set>

#include <unistd.h>

namespace cb {
namespace {

// The name of NVIDIA's device file: "nvidia0" of "/dev/nvidia0", and of the driver's own root
// ("/run/nvidia/driver/dev/nvidia0") where the driver is a container; else "".
std::string nvidia_device(const std::string& target) {
  const size_t at = target.rfind("/dev/");
  if (at == std::string::npos) return "";
  const std::string name = target.substr(at + 5);
  return name.starts_with("nvidia") ? name : "";
}

bool is_gpu(std::string_view name) {
  constexpr std::string_view prefix = "nvidia";
  return name.size() > prefix.size() &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

std::set<std::string> held_devices(const std::filesystem::path& descriptors) {
  std::set<std::string> out;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(descriptors, failed)) {
    std::error_code gone;
    out.insert(nvidia_device(std::filesystem::read_symlink(entry.path(), gone).string()));
  }
  return out;
}

// It may hold /dev/nvidia-uvm as well (--uvm-persistence-mode). The kernel cuts names at 15 bytes.
bool keeps_the_driver(const std::string& name) { return name.starts_with("nvidia-persiste"); }

}  // namespace

std::vector<GpuUser> gpu_users(const FsRoot& fs) {
  std::vector<GpuUser> out;
  const std::string self = std::to_string(::getpid());
  for (const std::string& pid : fs.entries("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == self) continue;
    const std::set<std::string> held = held_devices(fs.resolve("/proc/" + pid + "/fd"));
    if (!held.contains("nvidia-uvm")) continue;
    GpuUser user{pid, fs.text("/proc/" + pid + "/comm").value_or("?"), {}};
    for (const std::string& device : held) {
      if (is_gpu(device)) user.devices.push_back(device);
    }
    if (!user.devices.empty() && !keeps_the_driver(user.name)) out.push_back(std::move(user));
  }
  return out;
}

}  // namespace cb
