#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "sys/os/fs_root.h"
#include "sys/storage/block.h"

struct nvme_passthru_cmd;

namespace cb::nvme {

// The SMART / Health Information log page (NVMe base specification 2.0, figure 207).
struct SmartLog {
  unsigned critical_warning = 0;  // bits: spare, temperature, reliability, read-only, backup, PMR
  double temperature_celsius = 0;
  unsigned available_spare_percent = 0, spare_threshold_percent = 0, percentage_used = 0;
  double read_bytes = 0, written_bytes = 0;  // rounded up to units of 1,000 × 512 bytes
  double read_commands = 0, write_commands = 0;
  double power_cycles = 0, power_on_hours = 0, unsafe_shutdowns = 0;
  double media_errors = 0, error_log_entries = 0;
  // The drive counts minutes.
  double warning_temperature_seconds = 0, critical_temperature_seconds = 0;
  double light_throttle_count = 0, heavy_throttle_count = 0;
  double light_throttle_seconds = 0, heavy_throttle_seconds = 0;
};
constexpr size_t kSmartBytes = 512;
SmartLog parse_smart(std::span<const std::byte, kSmartBytes> page);
// Returns "spare below threshold, read-only"; empty for 0.
Said critical_warning_text(unsigned bits);

// The answer of Identify Controller (figure 275).
struct Identity {
  std::string serial, model, firmware;
  std::optional<double> warning_celsius, critical_celsius;  // composite temperature thresholds
};
constexpr size_t kIdentifyBytes = 4096;
Identity parse_identity(std::span<const std::byte, kIdentifyBytes> page);

// Sends an admin command to a device file. Returns 0, an NVMe status, or -errno.
using AdminCommand = std::function<int(const std::string& device, nvme_passthru_cmd& command)>;
int send_admin_command(const std::string& device, nvme_passthru_cmd& command);

// The value, or why it was not read ("needs CAP_SYS_ADMIN (root): Permission denied").
template <typename T>
struct Reading {
  std::optional<T> value = {};
  Said why = {};
};
Reading<SmartLog> read_smart(const std::string& controller, const AdminCommand& send);
Reading<Identity> read_identity(const std::string& controller, const AdminCommand& send);

// Returns the controllers ("nvme0") of a namespace's block device: one, or all controllers of its
// subsystem with native multipath. Empty if it is not an NVMe device.
std::vector<std::string> controllers_of(const FsRoot& fs, const block::Device& disk);

// A controller's PCI Express link as trained now, and its maximum. Fabrics have none.
struct Link {
  std::string speed, width, max_speed, max_width;  // "16.0 GT/s PCIe", "4"
  bool below_maximum() const { return speed != max_speed || width != max_width; }
  bool operator==(const Link&) const = default;
};
std::optional<Link> link_of(const FsRoot& fs, const std::string& controller);

}  // namespace cb::nvme
