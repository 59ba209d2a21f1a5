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

// Why data would be hurt, and what to do about it. Every reason is looked for, not only the first,
// and each is about the device number, so a link or an alias of the device changes nothing.

// Why the raw device must not be written; empty if it may be. `serial` is what the user typed with
// --allow-raw-write; `found` are the signatures on the device itself.
std::vector<std::string> why_not_write_device(const FsRoot& fs, block::Number device,
                                              const std::optional<std::string>& serial,
                                              const std::vector<Signature>& found);

// Why the file that is open (O_PATH) must not be overwritten: links, swap, a loop device's backing
// file, a filesystem of the kernel's own.
std::vector<std::string> why_not_overwrite_file(const FsRoot& fs, int file);

// Why nothing may be made in the directory that is open: the root of the system, a filesystem of
// the kernel's own, a directory that the system itself lives in and no other filesystem mounted
// there.
std::vector<std::string> why_not_make_directory(int directory);

// What the user said about an existing file or device.
struct WritePermission {
  bool overwrite = false;             // --allow-overwrite: a regular file's content may be lost
  std::optional<std::string> serial;  // --allow-raw-write: a block device's may
};

// What was looked at and may be written. It stays open, so that nothing else gets its number.
class WritableTarget {
 public:
  static WritableTarget of_device(std::string path, block::Number number);
  static WritableTarget of_file(std::string path, Fd looked_at);
  bool is_device() const { return looked_at_.get() < 0; }
  // Opens for writing what was looked at and nothing else: nobody else may claim a device as long
  // as it is open (O_EXCL). −1 with errno where a file cannot be opened so. Throws Error if it is
  // not there any more, or the device is in use.
  int open(int flags) const;

 private:
  std::string path_;
  block::Number number_ = {};
  Fd looked_at_;
};

// Looks at what `path` is and throws UsageError with every reason against writing it.
WritableTarget writable_target(const FsRoot& fs, const std::string& path,
                               const WritePermission& permission);
// Opens `path` and throws UsageError with every reason against making a directory there.
Fd open_writable_directory(const std::string& path);

}  // namespace cb::io
