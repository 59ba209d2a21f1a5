// NVIDIA GPUs and NVSwitches from PCI: what is plugged in is listed even if no driver is loaded.
// What NVML tells is added to it.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/pci.h"

namespace cb::inventory {
namespace {

constexpr long long kNvidia = 0x10de;
// PCI class codes without the interface byte (PCI-SIG class code list).
constexpr uint32_t kVga = 0x0300, kController3d = 0x0302, kOtherBridge = 0x0680;

// The driver's version stands somewhere in the first line of its version file, for example
// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build …".
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

// What the driver tells of each GPU without any tool.
void add_driver_facts(const FsRoot& fs, Part& part) {
  const auto text = fs.text("/proc/driver/nvidia/gpus/" + part.id + "/information");
  if (!text) return;
  const auto fields = colon_fields(*text);
  const auto take = [&](const char* attribute, const char* key) {
    const auto found = fields.find(key);
    // Question marks stand for what the driver has not read yet.
    if (found != fields.end() && found->second.find("??") == std::string::npos)
      put_text(part, attribute, found->second);
  };
  take("model", "Model");
  take("vbios", "Video BIOS");
  take("firmware", "GPU Firmware");
  take("uuid", "GPU UUID");
}

// The PCI devices above one, from the host bridge down to itself.
std::vector<std::string> pci_ancestry(const FsRoot& fs, const std::string& link) {
  std::error_code error;
  std::vector<std::string> out;
  for (const auto& component : std::filesystem::canonical(fs.resolve(link), error)) {
    const std::string name = component.string();
    if (is_pci_address(name) || name.starts_with("pci")) out.push_back(name);
  }
  return out;
}

// How a GPU reaches a NIC, as `nvidia-smi topo -m` names it: PIX behind one PCIe switch, PXB behind
// several, PHB the same host bridge, NODE the same NUMA node, SYS across nodes.
std::string reach(const std::vector<std::string>& gpu, const std::vector<std::string>& nic,
                  bool same_node) {
  const auto [g, n] = std::mismatch(gpu.begin(), gpu.end(), nic.begin(), nic.end());
  const auto shared = g - gpu.begin();
  if (shared == 0) return same_node ? "NODE" : "SYS";
  if (shared == 1) return "PHB";
  // Below the last bridge in common: the device, and a port of the switch above it.
  return gpu.end() - g <= 2 && nic.end() - n <= 2 ? "PIX" : "PXB";
}

// "mlx5_0 PIX, mlx5_1 NODE, …": every RDMA device and how this GPU reaches it.
std::optional<std::string> nics_of(const FsRoot& fs, const std::string& gpu) {
  const auto own = pci_ancestry(fs, "/sys/bus/pci/devices/" + gpu);
  const auto node = fs.integer(pci_path(gpu, "numa_node"));
  std::string out;
  for (const std::string& device : fs.entries("/sys/class/infiniband")) {
    const std::string link = "/sys/class/infiniband/" + device + "/device";
    const auto nic = pci_ancestry(fs, link);
    if (own.empty() || nic.empty()) continue;
    const bool same_node = node && *node >= 0 && fs.integer(link + "/numa_node") == node;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", device, reach(own, nic, same_node));
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

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
    if (!driver) part.unavailable["driver_version"] = "the NVIDIA driver is not loaded";
    gpus.push_back(std::move(part));
  }
  if (fs.is_machine()) add_nvml_facts(gpus);
  gpus.insert(gpus.end(), switches.begin(), switches.end());
  return gpus;
}

}  // namespace cb::inventory
