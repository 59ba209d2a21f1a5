// NVMe controllers, block devices and mounted file systems.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/machine.h"
#include "sys/inventory/pci.h"

namespace cb::inventory {
namespace {

constexpr long long kSectorBytes = 512;  // unit of sysfs's size files on every device

// Returns the sum over the namespaces nvme0n1, nvme0n2 …
std::optional<long long> nvme_size(const FsRoot& fs, const std::string& controller,
                                   const std::vector<std::string>& disks) {
  std::optional<long long> sectors;
  for (const std::string& disk : disks) {
    if (!disk.starts_with(controller + "n")) continue;
    if (const auto size = fs.integer("/sys/block/" + disk + "/size"))
      sectors = sectors.value_or(0) + *size;
  }
  return sectors;
}

bool is_disk(const FsRoot& fs, const std::string& name) {
  for (const char* prefix : {"loop", "ram", "zram", "fd", "sr"}) {
    if (name.starts_with(prefix)) return false;
  }
  return fs.integer("/sys/block/" + name + "/size").value_or(0) > 0;
}

// File systems that hold data without a local device. Their data is elsewhere, so a call would hang
// if the server is gone.
constexpr std::array<std::string_view, 13> kRemote{
    "nfs",  "nfs4", "lustre", "gpfs",     "beegfs", "beegfs_nodev", "ceph",
    "cifs", "smb3", "9p",     "virtiofs", "wekafs", "glusterfs"};

bool is_remote(std::string_view type) {
  return std::find(kRemote.begin(), kRemote.end(), type) != kRemote.end() ||
         type.starts_with("fuse.");
}

bool is_real(std::string_view source, std::string_view type) {
  return is_remote(type) || source.starts_with("/dev/") || type == "zfs" || type == "overlay";
}

// The kernel writes white space and backslashes in /proc/mounts as \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t k) { return i + k < text.size() ? text[i + k] - '0' : -1; };
    const int a = digit(1), b = digit(2), c = digit(3);
    const bool octal = text[i] == '\\' && a >= 0 && a < 4 && b >= 0 && b < 8 && c >= 0 && c < 8;
    out += octal ? static_cast<char>(a * 64 + b * 8 + c) : text[i];
    if (octal) i += 3;
  }
  return out;
}

// Removes the options that contain addresses.
std::string plain_options(const std::string& text) {
  std::vector<std::string> out;
  size_t from = 0;
  while (from <= text.size()) {
    const size_t comma = std::min(text.find(',', from), text.size());
    const std::string option = text.substr(from, comma - from);
    if (!option.starts_with("addr=") && !option.starts_with("clientaddr=") &&
        !option.starts_with("mountaddr="))
      out.push_back(option);
    from = comma + 1;
  }
  return fmt::format("{}", fmt::join(out, ","));
}

Part mount_part(const FsRoot& fs, const std::vector<std::string>& cells) {
  Part part{.kind = "mount", .id = unescaped(cells[1])};
  put_text(part, "source", unescaped(cells[0]));
  put_text(part, "type", cells[2]);
  put_text(part, "options", plain_options(cells[3]));
  part.attributes["read_only"] = cells[3] == "ro" || cells[3].starts_with("ro,");
  if (!fs.is_machine()) return part;
  if (is_remote(cells[2])) {
    part.unavailable["size_bytes"] = said("inventory.not_asked");
  } else if (const auto space = space_of(part.id)) {
    part.attributes["size_bytes"] = space->size_bytes;
    part.attributes["free_bytes"] = space->free_bytes;
  }
  return part;
}

}  // namespace

std::vector<Part> nvme_parts(const FsRoot& fs) {
  const std::vector<std::string> disks = fs.entries("/sys/block");
  std::vector<Part> out;
  for (const std::string& name : fs.entries("/sys/class/nvme")) {
    const std::string dir = "/sys/class/nvme/" + name + "/";
    Part part{.kind = "nvme", .id = name};
    put_file(part, "model", fs, dir + "model");
    put_file(part, "serial", fs, dir + "serial");
    put_file(part, "firmware", fs, dir + "firmware_rev");
    put_file(part, "transport", fs, dir + "transport");
    put_file(part, "state", fs, dir + "state");
    put_integer(part, "size_bytes", nvme_size(fs, name, disks), kSectorBytes);
    if (const auto address = pci_address_of(fs, dir + "device")) put_pci(part, fs, *address);
    out.push_back(std::move(part));
  }
  return out;
}

std::vector<Part> disk_parts(const FsRoot& fs) {
  std::vector<Part> out;
  for (const std::string& name : fs.entries("/sys/block")) {
    if (!is_disk(fs, name)) continue;
    const std::string dir = "/sys/block/" + name + "/";
    Part part{.kind = "disk", .id = name};
    put_number_file(part, "size_bytes", fs, dir + "size", kSectorBytes);
    put_file(part, "model", fs, dir + "device/model");
    put_file(part, "vendor", fs, dir + "device/vendor");
    put_file(part, "raid_level", fs, dir + "md/level");
    put_number_file(part, "logical_block_bytes", fs, dir + "queue/logical_block_size");
    put_number_file(part, "physical_block_bytes", fs, dir + "queue/physical_block_size");
    put_number_file(part, "read_ahead_bytes", fs, dir + "queue/read_ahead_kb", 1024);
    put_text(part, "scheduler", bracketed(fs.text(dir + "queue/scheduler")));
    if (const auto rotational = fs.integer(dir + "queue/rotational"))
      part.attributes["rotational"] = *rotational != 0;
    out.push_back(std::move(part));
  }
  return out;
}

std::vector<Part> mount_parts(const FsRoot& fs) {
  auto text = fs.text("/proc/self/mounts");
  if (!text) text = fs.text("/proc/mounts");
  std::vector<Part> out;
  std::set<std::string> sources;  // bind mounts list a file system again: only the first one counts
  for (const std::string& line : lines(text.value_or(""))) {
    const auto cells = words(line);  // source, mount point, type, options
    if (cells.size() < 4 || !is_real(cells[0], cells[2])) continue;
    if (!sources.insert(cells[0]).second && cells[2] != "overlay") continue;
    if (cells[2] == "overlay" && cells[1] != "/") continue;  // skips the layers of containers
    out.push_back(mount_part(fs, cells));
  }
  std::sort(out.begin(), out.end(), [](const Part& a, const Part& b) { return a.id < b.id; });
  return out;
}

}  // namespace cb::inventory
