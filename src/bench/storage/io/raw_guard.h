#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/storage/io/fd.h"
#include "core/error.h"
#include "sys/os/fs_root.h"
#include "sys/storage/block.h"
#include "sys/storage/signatures.h"

namespace cb::io {

// These functions say why data would be hurt and what to do about it. They collect every reason,
// not only the first. They look at the device number, so a link or an alias of the device changes
// nothing.

// Reasons not to write the raw device; empty if it may be written. `serial` is what the user typed
// with --allow-raw-write; `found` are the signatures on the device itself.
std::vector<std::string> why_not_write_device(const FsRoot& fs, block::Number device,
                                              const std::optional<std::string>& serial,
                                              const std::vector<Signature>& found);

// Reasons not to overwrite the open (O_PATH) file: links, swap, a loop device's backing file, a
// filesystem of the kernel's own.
std::vector<std::string> why_not_overwrite_file(const FsRoot& fs, int file);

// Reasons not to make anything in the open directory: it is the root of the system, lies on a
// filesystem of the kernel's own, or lies in a system directory with no other filesystem mounted
// between.
std::vector<std::string> why_not_make_directory(int directory);

// What the user allowed for an existing file or device.
struct WritePermission {
  bool overwrite = false;             // --allow-overwrite: a regular file's content may be lost
  std::optional<std::string> serial;  // --allow-raw-write: this device's content may be lost
};

// A file or device that was checked and may be written. A file stays open, so that nothing else
// gets its inode number.
class WritableTarget {
 public:
  static WritableTarget of_device(std::string path, block::Number number);
  static WritableTarget of_file(std::string path, Fd looked_at);
  bool is_device() const { return looked_at_.get() < 0; }
  // Opens the checked file or device for writing, and nothing else. A device is claimed as long as
  // it is open (O_EXCL). Returns −1 with errno if a file cannot be opened with `flags`. Throws
  // Error if another file or device has taken its place, or if the device is in use or cannot be
  // opened.
  int open(int flags) const;

 private:
  std::string path_;
  block::Number number_ = {};
  Fd looked_at_;
};

// Checks `path` and throws UsageError with every reason against writing it.
WritableTarget writable_target(const FsRoot& fs, const std::string& path,
                               const WritePermission& permission);
// Opens `path` and throws UsageError with every reason against making a directory there. −1 if it
// cannot be opened.
Fd open_writable_directory(const std::string& path);

}  // namespace cb::io
