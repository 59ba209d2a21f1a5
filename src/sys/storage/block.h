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

// A block device as the kernel knows it, whatever name led to it.
struct Device {
  Number number;
  std::string name;  // the kernel's: "nvme0n1p1", "dm-0"
  bool partition = false;
  uint64_t bytes = 0;
  bool read_only = false, removable = false;
  std::optional<std::string> serial, wwid, model;        // of the whole device
  std::optional<int> numa_node;                          // of its controller
  std::optional<std::string> backing_file;               // of a loop device
  std::optional<std::string> mapped_name;                // of a device-mapper device: "vg0-data"
  std::vector<std::string> partitions, holders, slaves;  // kernel names
};

// Below /sys; nothing if the kernel has no such device.
std::optional<Device> find(const FsRoot& fs, Number number);
std::optional<Device> find(const FsRoot& fs, const std::string& name);
// The device behind a path below /dev, also by way of links and device-mapper names.
std::optional<Device> find_path(const FsRoot& fs, const std::string& path);
// The disk that a partition is of.
std::optional<Device> whole(const FsRoot& fs, const Device& partition);
// Every block device.
std::vector<Device> all(const FsRoot& fs);

// The physical disks below a device: itself or its whole, or what md and device-mapper put it on.
std::vector<Device> disks_below(const FsRoot& fs, const Device& device);

// What is changed when `device` is written: itself, its whole, its partitions, and what holds any
// of these (LVM, md, dm-crypt, multipath, bcache), upwards without end. No sibling partitions.
std::vector<Device> touched_by_writing(const FsRoot& fs, const Device& device);

// Where a device is mounted in this mount namespace: by device number, and by the name of the
// source, because btrfs and others show numbers that are no device's.
std::vector<std::string> mount_points(const FsRoot& fs, const Device& device);

// An entry of /proc/swaps, its name as the kernel wrote it, "\040" resolved.
struct Swap {
  std::string path;
  bool is_file = false;
};
std::vector<Swap> swaps(const FsRoot& fs);
bool is_swap(const FsRoot& fs, const Device& device);

}  // namespace cb::block
