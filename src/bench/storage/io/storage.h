#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sys/os/fs_root.h"

namespace cb::io {

// The storage below a file or directory.
struct Storage {
  std::string filesystem = "unknown";  // "ext4", "tmpfs", "overlay", …
  std::string mount_point;             // empty if unknown
  std::string source;                  // "/dev/nvme0n1p1", "server:/export"
  bool in_memory = false;              // tmpfs, ramfs
  bool on_device = false;              // the source is a block device of this host
};

// Finds the mount in the kernel's list (text of /proc/self/mountinfo): by the mount's id where the
// kernel gives it, else by the longest mount point that leads to `path` (absolute, without links).
Storage find_storage(std::string_view mountinfo, std::optional<uint64_t> mount_id,
                     const std::string& path);

// The storage of an open file or directory. Throws Error naming `path` if the kernel does not
// answer.
Storage storage_of(int fd, const std::string& path);

// Bytes that the kernel has fetched from storage for this process since its start (/proc/self/io).
// Nothing if the kernel does not count. Direct reads count in full; reads that the page cache
// serves do not count.
std::optional<uint64_t> bytes_read_from_storage();

// The share of the `file_bytes` bytes from `first` on that is in the page cache now (mincore on up
// to 64 evenly spread windows). Nothing if there are no bytes or the kernel does not say.
std::optional<double> cached_share(int fd, uint64_t file_bytes, uint64_t first = 0);

// Bytes from /proc/meminfo; nothing if absent.
std::optional<uint64_t> memory_total(const FsRoot& fs);
std::optional<uint64_t> memory_available(const FsRoot& fs);

// Bytes that a user without special rights can still write to the filesystem of `fd`; for a
// filesystem in memory, never more than the host has available.
uint64_t free_bytes(int fd, const Storage& storage, const FsRoot& fs);

}  // namespace cb::io
