// NVIDIA GPUs and NVSwitches from PCI: lists what is plugged in even if no driver is loaded. NVML's
// facts are added.
#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "sys/gpu/pci_reach.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/pci.h"

namespace cb::inventory {
namespace {

constexpr long long kNvidia = 0x10de;
// PCI class codes without the interface byte (PCI-SIG class code list).
constexpr uint32_t kVga = 0x0300, kController3d = 0x0302, kOtherBridge = 0x0680;

// The driver's version is a word in the first line of its version file, for example "NVRM version:
// NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build …".
std::optional<std::string> driver_version(const FsRoot& fs) {
  const auto text = fs.text("/proc/driver/nvidia/version");
  if (!text) return std::nullopt;
  for (const std::string& word : words(text->substr(0, text->find('\n')))) {
    const bool version = word.find('.') != std::string::npos &&
                         std::all_of(word.begin(), word.end(), [](unsigned char c) {
                           return std::isdigit(c) != 0 || c == '.';
                         });
    if (version) return word;
  }
  return std::nullopt;
}

// Adds what the driver states about each GPU in /proc.
void add_driver_facts(const FsRoot& fs, Part& part) {
  const auto text = fs.text("/proc/driver/nvidia/gpus/" + part.id + "/information");
  if (!text) return;
  const auto fields = colon_fields(*text);
  const auto take = [&](const char* attribute, const char* key) {
    const auto found = fields.find(key);
    // The driver prints question marks for what it has not read yet.
    if (found != fields.end() && found->second.find("??") == std::string::npos)
      put_text(part, attribute, found->second);
  };
  take("model", "Model");
  take("vbios", "Video BIOS");
  take("firmware", "GPU Firmware");
  take("uuid", "GPU UUID");
}

// Returns "mlx5_0 PIX, mlx5_1 NODE, …": every RDMA device and how this GPU reaches it.
std::optional<std::string> nics_of(const FsRoot& fs, const std::string& gpu) {
  std::string out;
  for (const ReachedNic& nic : reached_nics(fs, gpu))
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", nic.device, pci_reach_name(nic.reach));
  return out.empty() ? std::nullopt : std::optional(out);
}

// What IMEX, which lets hosts of an NVLink domain share GPU memory, has here: channels that
// processes may open, and hosts of its configuration
// (docs.nvidia.com/multi-node-nvlink-systems/imex-guide).
void put_imex(const FsRoot& fs, Part& part) {
  int64_t channels = 0;
  for (const std::string& name : fs.entries("/dev/nvidia-caps-imex-channels"))
    channels += name.starts_with("channel") ? 1 : 0;
  part.attributes["imex_channels"] = channels;
  const auto nodes = fs.text("/etc/nvidia-imex/nodes_config.cfg");
  if (!nodes) {
    part.unavailable["imex_nodes"] = said("inventory.no_imex");
    return;
  }
  int64_t count = 0;
  std::istringstream lines(*nodes);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    count += first != std::string::npos && line[first] != '#' ? 1 : 0;
  }
  part.attributes["imex_nodes"] = count;
}

}  // namespace

std::vector<Part> nvlink_domain_parts(const FsRoot& fs, const std::vector<Part>& gpus) {
  std::map<std::string, int64_t> count;
  for (const Part& gpu : gpus) {
    if (const auto domain = text_of(&gpu, "nvlink_domain")) ++count[*domain];
  }
  std::vector<Part> out;
  for (const auto& [domain, members] : count) {
    Part part{.kind = "nvlink_domain", .id = domain};
    part.attributes["gpus"] = members;
    put_imex(fs, part);
    out.push_back(std::move(part));
  }
  return out;
}

std::vector<Part> gpu_parts(const FsRoot& fs) {
  std::vector<Part> gpus, switches;
  const auto driver = driver_version(fs);
  for (const PciFunction& function : pci_functions(fs)) {
    const uint32_t kind = function.class_code >> 8;
    if (kind != kVga && kind != kController3d && kind != kOtherBridge) continue;
    if (fs.integer(pci_path(function.address, "vendor")) != kNvidia) continue;
    Part part{.kind = kind == kOtherBridge ? "nvswitch" : "gpu", .id = function.address};
    put_pci(part, fs, function.address);
    put_text(part, "kernel_driver", fs.link_name(pci_path(function.address, "driver")));
    if (kind == kOtherBridge) {
      switches.push_back(std::move(part));
      continue;
    }
    add_driver_facts(fs, part);
    put_text(part, "nics", nics_of(fs, function.address));
    put_text(part, "driver_version", driver);
    if (!driver) part.unavailable["driver_version"] = said("inventory.no_nvidia_driver");
    gpus.push_back(std::move(part));
  }
  if (fs.is_machine()) add_nvml_facts(fs, gpus);
  const std::vector<Part> domains = nvlink_domain_parts(fs, gpus);
  gpus.insert(gpus.end(), switches.begin(), switches.end());
  gpus.insert(gpus.end(), domains.begin(), domains.end());
  return gpus;
}

}  // namespace cb::inventory
