#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "sys/block.h"
#include "sys/fs_root.h"
#include "sys/signatures.h"

namespace cb::io {

// Why data would be hurt, and what to do about it. Every reason is looked for, not only the first,
// and each is about the device number, so a link or an alias of the device changes nothing.

// Why the raw device must not be written; empty if it may be. `serial` is what the user typed with
// --allow-raw-write; `found` are the signatures on the device itself.
std::vector<std::string> why_not_write_device(const FsRoot& fs, block::Number device,
                                              const std::optional<std::string>& serial,
                                              const std::vector<Signature>& found);

// Why the regular file behind `path` must not be overwritten: links, swap, a loop device's backing
// file, a filesystem of the kernel's own.
std::vector<std::string> why_not_overwrite_file(const FsRoot& fs, const std::string& path);

// Why no directory may be made in `path`: the root of the system, a filesystem of the kernel's own.
std::vector<std::string> why_not_make_directory(const std::string& path);

// What the user said about an existing file or device.
struct WritePermission {
  bool overwrite = false;             // --allow-overwrite: a regular file's content may be lost
  std::optional<std::string> serial;  // --allow-raw-write: a block device's may
};

// Looks at what `path` is and throws UsageError with every reason against writing it.
void require_writable_target(const FsRoot& fs, const std::string& path,
                             const WritePermission& permission);
void require_writable_directory(const std::string& path);

// Opens a block device that passed for writing, and nobody else may claim it as long as it is open
// (O_EXCL). Throws Error if it is in use, or is not the device any more that was looked at.
int open_exclusively(const std::string& path, block::Number expected, int flags);

}  // namespace cb::io
