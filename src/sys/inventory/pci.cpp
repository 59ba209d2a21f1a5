#include "sys/inventory/pci.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "sys/inventory/fields.h"

namespace cb::inventory {
namespace {

// PCI Express Base Specification: gigatransfers per second and lane of each generation.
struct Speed {
  double gigatransfers;
  int64_t generation;
};
constexpr std::array kSpeeds{Speed{2.5, 1}, Speed{5, 2},  Speed{8, 3},  Speed{16, 4},
                             Speed{32, 5},  Speed{64, 6}, Speed{128, 7}};

void put_link(Part& part, const FsRoot& fs, const std::string& address, const char* file_prefix,
              const char* attribute_prefix) {
  const auto speed = fs.text(pci_path(address, fmt::format("{}_link_speed", file_prefix)));
  const auto lanes = fs.integer(pci_path(address, fmt::format("{}_link_width", file_prefix)));
  const auto generation = speed ? pcie_generation(*speed) : std::nullopt;
  if (generation) part.attributes[fmt::format("{}generation", attribute_prefix)] = *generation;
  // 0 means that the link is not trained, 255 that the device does not answer.
  if (lanes && *lanes > 0 && *lanes < 255)
    part.attributes[fmt::format("{}lanes", attribute_prefix)] = static_cast<int64_t>(*lanes);
}

std::string hex_digits(const std::optional<long long>& value) {
  return value ? fmt::format("{:04x}", *value & 0xFFFF) : "????";
}

}  // namespace

bool is_pci_address(std::string_view text) {
  constexpr std::string_view kPattern = "hhhh:hh:hh.d";
  // Domains beyond 16 bits (VMD, hyperv) have more digits at the front.
  if (text.size() < kPattern.size() || text.size() > kPattern.size() + 4) return false;
  const size_t extra = text.size() - kPattern.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const char wanted = i < extra ? 'h' : kPattern[i - extra];
    const auto c = static_cast<unsigned char>(text[i]);
    const bool fits = wanted == 'h'   ? std::isxdigit(c) != 0
                      : wanted == 'd' ? std::isdigit(c) != 0
                                      : text[i] == wanted;
    if (!fits) return false;
  }
  return true;
}

std::optional<std::string> pci_address_of(const FsRoot& fs, const std::string& device_link) {
  std::error_code error;
  auto path = std::filesystem::canonical(fs.resolve(device_link), error);
  for (; !error && path.has_relative_path(); path = path.parent_path()) {
    const std::string name = path.filename().string();
    if (is_pci_address(name)) return name;
  }
  return std::nullopt;
}

std::optional<int64_t> pcie_generation(const std::string& speed) {
  const double value = std::strtod(speed.c_str(), nullptr);
  for (const Speed& s : kSpeeds) {
    if (value == s.gigatransfers) return s.generation;
  }
  return std::nullopt;
}

std::string pci_path(const std::string& address, const std::string& file) {
  return "/sys/bus/pci/devices/" + address + "/" + file;
}

void put_pci(Part& part, const FsRoot& fs, const std::string& address) {
  part.attributes["pci_address"] = address;
  const auto vendor = fs.integer(pci_path(address, "vendor"));
  const auto device = fs.integer(pci_path(address, "device"));
  if (vendor || device) part.attributes["pci_id"] = hex_digits(vendor) + ":" + hex_digits(device);
  const auto node = fs.integer(pci_path(address, "numa_node"));
  if (node && *node >= 0) part.attributes["numa_node"] = static_cast<int64_t>(*node);
  if (node && *node < 0) part.unavailable["numa_node"] = said("inventory.firmware_silent");
  put_link(part, fs, address, "current", "pcie_");
  put_link(part, fs, address, "max", "pcie_max_");
}

std::vector<PciFunction> pci_functions(const FsRoot& fs) {
  std::vector<PciFunction> out;
  for (const std::string& address : fs.entries("/sys/bus/pci/devices")) {
    const auto code = fs.integer(pci_path(address, "class"));
    if (is_pci_address(address) && code) out.push_back({address, static_cast<uint32_t>(*code)});
  }
  // Addresses are hexadecimal: the natural order of names would put 9d before 43.
  std::sort(out.begin(), out.end(), [](const PciFunction& a, const PciFunction& b) {
    return std::pair(a.address.size(), a.address) < std::pair(b.address.size(), b.address);
  });
  return out;
}

}  // namespace cb::inventory
