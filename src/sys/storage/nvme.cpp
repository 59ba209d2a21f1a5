#include "sys/storage/nvme.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cb::nvme {
namespace {

constexpr uint8_t kGetLogPage = 0x02, kIdentify = 0x06;
constexpr uint32_t kSmartLogId = 0x02, kIdentifyController = 0x01, kAllNamespaces = 0xffffffff;
constexpr uint32_t kTimeoutMs = 5000;
constexpr double kZeroCelsius = 273;  // the specification counts in whole kelvins
constexpr double kDataUnitBytes = 512'000;

// Reads a little-endian number of up to 16 bytes. Rounds above 2^53, which no counter reaches.
double number(std::span<const std::byte> page, size_t at, size_t bytes) {
  double out = 0;
  for (size_t i = bytes; i-- > 0;) out = out * 256 + std::to_integer<unsigned>(page[at + i]);
  return out;
}

unsigned byte_at(std::span<const std::byte> page, size_t at) {
  return std::to_integer<unsigned>(page[at]);
}

std::string text(std::span<const std::byte> page, size_t at, size_t bytes) {
  std::string out(reinterpret_cast<const char*>(page.data()) + at, bytes);
  out.erase(std::find(out.begin(), out.end(), '\0'), out.end());
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::optional<double> celsius(double kelvin) {
  if (kelvin == 0) return std::nullopt;  // 0 means not reported
  return kelvin - kZeroCelsius;
}

Said why_failed(const std::string& device, int result) {
  if (result > 0) return said("smart.status", device, fmt::format("{:#x}", result));
  if (result == -EACCES || result == -EPERM)
    return said("smart.root", device, std::strerror(-result));
  return said("said.of", device, std::strerror(-result));
}

}  // namespace

SmartLog parse_smart(std::span<const std::byte, kSmartBytes> page) {
  const auto minutes = [&](size_t at) { return number(page, at, 4) * 60; };
  return {.critical_warning = byte_at(page, 0),
          .temperature_celsius = number(page, 1, 2) - kZeroCelsius,
          .available_spare_percent = byte_at(page, 3),
          .spare_threshold_percent = byte_at(page, 4),
          .percentage_used = byte_at(page, 5),
          .read_bytes = number(page, 32, 16) * kDataUnitBytes,
          .written_bytes = number(page, 48, 16) * kDataUnitBytes,
          .read_commands = number(page, 64, 16),
          .write_commands = number(page, 80, 16),
          .power_cycles = number(page, 112, 16),
          .power_on_hours = number(page, 128, 16),
          .unsafe_shutdowns = number(page, 144, 16),
          .media_errors = number(page, 160, 16),
          .error_log_entries = number(page, 176, 16),
          .warning_temperature_seconds = minutes(192),
          .critical_temperature_seconds = minutes(196),
          .light_throttle_count = number(page, 216, 4),
          .heavy_throttle_count = number(page, 220, 4),
          .light_throttle_seconds = number(page, 224, 4),
          .heavy_throttle_seconds = number(page, 228, 4)};
}

Said critical_warning_text(unsigned bits) {
  constexpr std::array<const char*, 6> kNames{"smart.spare",       "smart.temperature",
                                              "smart.reliability", "smart.read_only",
                                              "smart.backup",      "smart.persistent"};
  std::vector<Said> out;
  for (size_t i = 0; i < 8; ++i) {
    if ((bits >> i & 1) == 0) continue;
    out.push_back(i < kNames.size() ? said(kNames[i]) : said("smart.bit", i));
  }
  return said_names(out);
}

Identity parse_identity(std::span<const std::byte, kIdentifyBytes> page) {
  return {.serial = text(page, 4, 20),
          .model = text(page, 24, 40),
          .firmware = text(page, 64, 8),
          .warning_celsius = celsius(number(page, 266, 2)),
          .critical_celsius = celsius(number(page, 268, 2))};
}

int send_admin_command(const std::string& device, nvme_passthru_cmd& command) {
  const int fd = ::open(device.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const int result = ::ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command);
  const int error = errno;
  ::close(fd);
  return result < 0 ? -error : result;
}

Reading<SmartLog> read_smart(const std::string& controller, const AdminCommand& send) {
  std::array<std::byte, kSmartBytes> page{};
  nvme_passthru_cmd command{};
  command.opcode = kGetLogPage;
  command.nsid = kAllNamespaces;
  command.addr = reinterpret_cast<uintptr_t>(page.data());
  command.data_len = kSmartBytes;
  command.cdw10 = kSmartLogId | (kSmartBytes / 4 - 1) << 16;  // number of words to read, minus one
  command.timeout_ms = kTimeoutMs;
  const std::string device = "/dev/" + controller;
  const int result = send(device, command);
  if (result != 0) return {.why = why_failed(device, result)};
  return {.value = parse_smart(page)};
}

Reading<Identity> read_identity(const std::string& controller, const AdminCommand& send) {
  std::vector<std::byte> page(kIdentifyBytes);
  nvme_passthru_cmd command{};
  command.opcode = kIdentify;
  command.addr = reinterpret_cast<uintptr_t>(page.data());
  command.data_len = kIdentifyBytes;
  command.cdw10 = kIdentifyController;
  command.timeout_ms = kTimeoutMs;
  const std::string device = "/dev/" + controller;
  const int result = send(device, command);
  if (result != 0) return {.why = why_failed(device, result)};
  return {.value = parse_identity(std::span<const std::byte, kIdentifyBytes>(page))};
}

std::vector<std::string> controllers_of(const FsRoot& fs, const block::Device& disk) {
  const auto above = fs.link_name("/sys/class/block/" + disk.name + "/device");
  if (!above || !above->starts_with("nvme")) return {};
  if (!above->starts_with("nvme-subsys")) return {*above};
  std::vector<std::string> out;
  for (const std::string& name : fs.entries("/sys/class/nvme-subsystem/" + *above)) {
    const bool controller = name.size() > 4 && name.starts_with("nvme") &&
                            name.find_first_not_of("0123456789", 4) == std::string::npos;
    if (controller) out.push_back(name);
  }
  return out;
}

std::optional<Link> link_of(const FsRoot& fs, const std::string& controller) {
  const std::string dir = "/sys/class/nvme/" + controller + "/device/";
  const auto speed = fs.text(dir + "current_link_speed"),
             width = fs.text(dir + "current_link_width");
  const auto max_speed = fs.text(dir + "max_link_speed"),
             max_width = fs.text(dir + "max_link_width");
  if (!speed || !width || !max_speed || !max_width) return std::nullopt;
  return Link{*speed, *width, *max_speed, *max_width};
}

}  // namespace cb::nvme
