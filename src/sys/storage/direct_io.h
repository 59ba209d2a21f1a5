#pragma once

#include <cstdint>
#include <string>

#include "sys/os/fs_root.h"

namespace cb {

// What direct IO demands of a request.
struct Alignment {
  uint64_t offset = 512;  // alignment of offset and length, bytes
  uint64_t memory = 512;
  std::string how;  // "statx", "logical block size", "assumed"
  // The file system says that it can do none, though it may take the flag, and then buffers.
  bool refused = false;
};

// Asks statx (STATX_DIOALIGN, Linux 6.1), else takes the device's logical block size, else 4096.
Alignment direct_alignment(int fd, const FsRoot& fs);

}  // namespace cb
