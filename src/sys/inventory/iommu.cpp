// IOMMU and ACS: both can send traffic between GPU and NIC through the root complex.
#include <array>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/units.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/pci.h"

namespace cb::inventory {
namespace {

// Returns what the kernel's command line asks for; the groups show the result.
std::optional<std::string> asked_mode(const FsRoot& fs) {
  const auto line = fs.text("/proc/cmdline");
  if (!line) return std::nullopt;
  std::string out;
  for (const std::string& word : words(*line)) {
    for (const char* name : {"iommu=", "intel_iommu=", "amd_iommu=", "iommu.passthrough=",
                             "iommu.strict=", "arm-smmu.disable_bypass="}) {
      if (word.starts_with(name)) out += (out.empty() ? "" : " ") + word;
    }
  }
  return out;
}

constexpr uint32_t kPciBridge = 0x0604;
// PCI Express Base Specification: extended capabilities start at 0x100. ACS has the ID 0x000D; its
// control register is 6 bytes into it.
constexpr off_t kExtended = 0x100;
constexpr uint32_t kAcsId = 0x000D;
constexpr off_t kAcsControl = 6;
constexpr int kMaxCapabilities = 64;  // ends a list that leads back to itself

enum class Acs { absent, off, on, not_permitted };

class ConfigSpace {
 public:
  explicit ConfigSpace(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ConfigSpace() {
    if (fd_ >= 0) ::close(fd_);
  }
  ConfigSpace(const ConfigSpace&) = delete;
  ConfigSpace& operator=(const ConfigSpace&) = delete;

  // Reads little-endian, as specified, and only the requested bytes: each byte costs an access to
  // the device.
  std::optional<uint32_t> read(off_t offset, size_t bytes) const {
    std::array<unsigned char, 4> raw{};
    if (::pread(fd_, raw.data(), bytes, offset) != static_cast<ssize_t>(bytes)) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = raw.size(); i-- > 0;) value = value << 8 | raw[i];
    return value;
  }
  off_t size() const {
    struct stat state {};
    return ::fstat(fd_, &state) == 0 ? state.st_size : 0;
  }

 private:
  int fd_;
};

Acs acs_of(const ConfigSpace& config) {
  if (config.size() == kExtended) return Acs::absent;  // conventional PCI has only 256 bytes
  off_t at = kExtended;
  for (int i = 0; i < kMaxCapabilities && at >= kExtended; ++i) {
    const auto header = config.read(at, 4);
    if (!header) return Acs::not_permitted;
    if ((*header & 0xFFFF) == kAcsId) {
      const auto control = config.read(at + kAcsControl, 2);
      if (!control) return Acs::not_permitted;
      return *control != 0 ? Acs::on : Acs::off;
    }
    at = *header >> 20;
  }
  return Acs::absent;
}

}  // namespace

std::vector<Part> iommu_parts(const FsRoot& fs) {
  Part part{.kind = "iommu", .id = "0"};
  put_text(part, "kernel_parameters", asked_mode(fs));
  const std::string base = "/sys/kernel/iommu_groups";
  if (!fs.exists(base)) return part.attributes.empty() ? std::vector<Part>{} : std::vector{part};
  const auto groups = fs.entries(base);
  part.attributes["enabled"] = !groups.empty();
  std::set<std::string> types;  // "identity" is pass-through, "DMA" and "DMA-FQ" translate
  for (const std::string& group : groups) {
    if (const auto type = fs.text(base + "/" + group + "/type")) types.insert(*type);
  }
  put_text(part, "domain_types", fmt::format("{}", fmt::join(types, " ")));
  return {part};
}

std::vector<Part> acs_parts(const FsRoot& fs) {
  std::array<int64_t, 4> count{};
  int64_t bridges = 0;
  for (const PciFunction& function : pci_functions(fs)) {
    if (function.class_code >> 8 != kPciBridge) continue;
    ++bridges;
    const ConfigSpace config(fs.resolve(pci_path(function.address, "config")));
    const Acs acs = acs_of(config);
    ++count[static_cast<size_t>(acs)];
    if (acs == Acs::not_permitted) break;  // the other bridges will not permit it either
  }
  if (bridges == 0) return {};
  Part part{.kind = "acs", .id = "0"};
  if (count[static_cast<size_t>(Acs::not_permitted)] > 0) {
    part.unavailable["bridges_enabled"] =
        said("inventory.needs_root", said("inventory.extended_space"));
    return {part};
  }
  part.attributes["bridges"] = bridges;
  part.attributes["bridges_capable"] =
      count[static_cast<size_t>(Acs::on)] + count[static_cast<size_t>(Acs::off)];
  part.attributes["bridges_enabled"] = count[static_cast<size_t>(Acs::on)];
  return {part};
}

}  // namespace cb::inventory
