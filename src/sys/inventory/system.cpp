// Kernel, distribution, board and firmware, virtualisation, and the kernel's settings that change
// measurements.
#include <array>

#include <sys/utsname.h>

#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"

namespace cb::inventory {
namespace {

// Returns the value of KEY=value or KEY="value" in an os-release file.
std::optional<std::string> release_field(const std::string& text, std::string_view key) {
  for (const std::string& line : lines(text)) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != '=') continue;
    std::string value = trimmed(std::string_view(line).substr(key.size() + 1));
    if (value.size() >= 2 && value.front() == value.back() &&
        (value.front() == '"' || value.front() == '\''))
      value = value.substr(1, value.size() - 2);
    return value;
  }
  return std::nullopt;
}

void add_software(const FsRoot& fs, Part& part) {
  put_file(part, "kernel", fs, "/proc/sys/kernel/osrelease");
  put_file(part, "architecture", fs, "/proc/sys/kernel/arch");  // exists since Linux 6.1
  utsname name{};
  if (fs.is_machine() && ::uname(&name) == 0)
    part.attributes["architecture"] = std::string(name.machine);
  auto release = fs.text("/etc/os-release");
  if (!release) release = fs.text("/usr/lib/os-release");
  if (release) put_text(part, "distribution", release_field(*release, "PRETTY_NAME"));
}

void add_board(const FsRoot& fs, Part& part) {
  const std::string dmi = "/sys/class/dmi/id/";
  if (!fs.exists(dmi)) {
    part.unavailable["product"] = said("inventory.no_dmi", dmi);
    return;
  }
  put_file(part, "vendor", fs, dmi + "sys_vendor");
  put_file(part, "product", fs, dmi + "product_name");
  put_file(part, "board", fs, dmi + "board_name");
  put_file(part, "bios_vendor", fs, dmi + "bios_vendor");
  put_file(part, "bios_version", fs, dmi + "bios_version");
  put_file(part, "bios_date", fs, dmi + "bios_date");
  put_file(part, "serial", fs, dmi + "product_serial");
  if (!part.attributes.contains("serial") && fs.exists(dmi + "product_serial"))
    part.unavailable["serial"] = said("inventory.needs_root", dmi + "product_serial");
}

struct Sign {
  const char* in_text;
  const char* hypervisor;
};

std::optional<std::string> named_in(const std::optional<std::string>& text,
                                    std::initializer_list<Sign> signs) {
  for (const Sign& sign : signs) {
    if (text && text->find(sign.in_text) != std::string::npos) return sign.hypervisor;
  }
  return std::nullopt;
}

// Reads files only. An x86 processor says if there is a hypervisor; its name comes from the clock
// source or the board's vendor. Other processors do not say, so only the board decides.
std::optional<std::string> virtualisation(const FsRoot& fs) {
  const auto cpu = first_processor(fs);
  const auto flags = cpu.find("flags");
  if (flags != cpu.end() && (" " + flags->second + " ").find(" hypervisor ") == std::string::npos)
    return "none";
  if (const auto xen = fs.text("/sys/hypervisor/type")) return xen;
  const auto clocks = fs.text("/sys/devices/system/clocksource/clocksource0/available_clocksource");
  if (const auto name = named_in(clocks, {{"kvm-clock", "kvm"}, {"hyperv", "hyperv"}})) return name;
  const auto vendor = fs.text("/sys/class/dmi/id/sys_vendor");
  if (const auto name = named_in(
          vendor,
          {{"QEMU", "kvm"}, {"VMware", "vmware"}, {"Xen", "xen"}, {"innotek", "virtualbox"}}))
    return name;
  const auto product = fs.text("/sys/class/dmi/id/product_name");
  if (const auto name = named_in(product, {{"Virtual Machine", "hyperv"}, {"KVM", "kvm"}}))
    return name;
  if (flags != cpu.end()) return "unknown hypervisor";
  return vendor ? std::optional<std::string>("none") : std::nullopt;
}

std::optional<std::string> container(const FsRoot& fs) {
  if (const auto name = fs.text("/run/systemd/container")) return name;
  if (fs.exists("/.dockerenv")) return "docker";
  if (fs.exists("/run/.containerenv")) return "podman";
  return std::nullopt;
}

// Lists only names that change performance: a command line may also contain private data.
constexpr std::array<std::string_view, 18> kKernelParameters{"iommu",
                                                             "intel_iommu",
                                                             "amd_iommu",
                                                             "iommu.passthrough",
                                                             "iommu.strict",
                                                             "pci",
                                                             "pcie_aspm",
                                                             "mitigations",
                                                             "isolcpus",
                                                             "nohz_full",
                                                             "processor.max_cstate",
                                                             "intel_idle.max_cstate",
                                                             "idle",
                                                             "intel_pstate",
                                                             "amd_pstate",
                                                             "hugepages",
                                                             "hugepagesz",
                                                             "numa_balancing"};

std::optional<std::string> kernel_parameters(const FsRoot& fs) {
  const auto line = fs.text("/proc/cmdline");
  if (!line) return std::nullopt;
  std::string out;
  for (const std::string& word : words(*line)) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    for (const std::string_view known : kKernelParameters) {
      if (name == known) out += (out.empty() ? "" : " ") + word;
    }
  }
  return out;
}

void add_settings(const FsRoot& fs, Part& part) {
  put_text(part, "kernel_parameters", kernel_parameters(fs));
  put_text(part, "transparent_hugepages",
           bracketed(fs.text("/sys/kernel/mm/transparent_hugepage/enabled")));
  put_number_file(part, "numa_balancing", fs, "/proc/sys/kernel/numa_balancing");
  put_file(part, "tuned_profile", fs, "/etc/tuned/active_profile");
  const auto swaps = fs.text("/proc/swaps");  // a heading, then lines: name type size-in-KiB …
  if (!swaps) return;
  int64_t kibibytes = 0;
  for (const std::string& line : lines(*swaps)) {
    const auto cells = words(line);
    if (cells.size() >= 3 && cells[0] != "Filename")
      kibibytes += std::strtoll(cells[2].c_str(), nullptr, 10);
  }
  part.attributes["swap_bytes"] = kibibytes * 1024;
}

}  // namespace

std::vector<Part> system_parts(const FsRoot& fs) {
  Part part{.kind = "system", .id = "0"};
  add_software(fs, part);
  add_board(fs, part);
  put_text(part, "virtualisation", virtualisation(fs));
  put_text(part, "container", container(fs));
  add_settings(fs, part);
  return {part};
}

}  // namespace cb::inventory
