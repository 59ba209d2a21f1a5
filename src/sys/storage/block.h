#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sys/os/fs_root.h"

namespace cb::block {

struct Number {
  unsigned major = 0, minor = 0;
  auto operator<=>(const Number&) const = default;
};
std::string to_text(Number number);  // "259:0"

// A block device as the kernel knows it, independent of the name that led to it.
struct Device {
  Number number;
  std::string name;  // the kernel's name: "nvme0n1p1", "dm-0"
  bool partition = false;
  uint64_t bytes = 0;
  bool read_only = false, removable = false;
  std::optional<std::string> serial, wwid, model;        // those of the whole device
  std::optional<int> numa_node;                          // its controller's node
  std::optional<std::string> backing_file;               // if it is a loop device
  std::optional<std::string> mapped_name;                // if device-mapper made it: "vg0-data"
  std::vector<std::string> partitions, holders, slaves;  // names as the kernel knows them
};

// Finds a device below /sys; nothing if the kernel has none.
std::optional<Device> find(const FsRoot& fs, Number number);
std::optional<Device> find(const FsRoot& fs, const std::string& name);
// Finds the device of a path below /dev; follows links and device-mapper names.
std::optional<Device> find_path(const FsRoot& fs, const std::string& path);
// Returns the disk that contains the partition.
std::optional<Device> whole(const FsRoot& fs, const Device& partition);
// Returns every block device.
std::vector<Device> all(const FsRoot& fs);

// Returns the physical disks below a device: itself or its whole disk, or the disks under md and
// device-mapper.
std::vector<Device> disks_below(const FsRoot& fs, const Device& device);

// Returns what writing to `device` changes: itself, its whole disk, its partitions, and whatever
// holds one of these (LVM, md, dm-crypt, multipath, bcache), at any height. Sibling partitions are
// not changed.
std::vector<Device> touched_by_writing(const FsRoot& fs, const Device& device);

// Returns where a device is mounted in this mount namespace. Compares device numbers and also names
// of sources, because btrfs and others show numbers that belong to no device.
std::vector<std::string> mount_points(const FsRoot& fs, const Device& device);

// An entry of /proc/swaps. Its path has escapes such as "\040" resolved.
struct Swap {
  std::string path;
  bool is_file = false;
};
std::vector<Swap> swaps(const FsRoot& fs);
bool is_swap(const FsRoot& fs, const Device& device);

}  // namespace cb::block
