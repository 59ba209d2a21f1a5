#include "bench/host/gpu_users.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/gpu/nvml.h"

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

// Nothing if the program's files may not be looked at.
std::optional<std::set<std::string>> held_devices(const std::filesystem::path& descriptors) {
  std::set<std::string> out;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(descriptors, failed)) {
    std::error_code gone;
    out.insert(nvidia_device(std::filesystem::read_symlink(entry.path(), gone).string()));
  }
  if (failed == std::errc::permission_denied) return std::nullopt;
  return out;
}

// A container has a namespace of processes of its own; the number of the machine's is fixed
// (PROC_PID_INIT_INO of Linux' proc_ns.h).
bool sees_the_whole_machine() {
  constexpr ino_t kOfTheMachine = 0xEFFFFFFC;
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == kOfTheMachine;
}

// It may hold /dev/nvidia-uvm as well (--uvm-persistence-mode). The kernel cuts names at 15 bytes.
bool keeps_the_driver(const std::string& name) { return name.starts_with("nvidia-persiste"); }

}  // namespace

GpuUsers gpu_users(const FsRoot& fs) {
  GpuUsers out{.all_seen = !fs.is_machine() || sees_the_whole_machine()};
  const std::string self = std::to_string(::getpid());
  for (const std::string& pid : fs.entries("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == self) continue;
    const auto held = held_devices(fs.resolve("/proc/" + pid + "/fd"));
    out.all_seen = out.all_seen && held.has_value();
    if (!held || !held->contains("nvidia-uvm")) continue;
    GpuUser user{pid, fs.text("/proc/" + pid + "/comm").value_or("?"), {}};
    for (const std::string& device : *held) {
      if (is_gpu(device)) user.devices.push_back(device);
    }
    if (!user.devices.empty() && !keeps_the_driver(user.name)) out.users.push_back(std::move(user));
  }
  return out;
}

std::optional<std::string> gpu_users_by_driver(Said& why) {
  const auto opened = nvml::open();
  if (const auto* absent = std::get_if<nvml::Absent>(&opened)) {
    why = absent->reason;
    return std::nullopt;
  }
  const auto& library = std::get<nvml::Library>(opened);
  std::string out;
  for (const nvml::Gpu& gpu : library.gpus()) {
    const auto processes = library.processes(gpu, why);
    if (!processes) return std::nullopt;
    if (!processes->empty())
      out += fmt::format("{}GPU {}: {}", out.empty() ? "" : "; ", gpu.index,
                         fmt::join(*processes, ", "));
  }
  return out;
}

}  // namespace cb
