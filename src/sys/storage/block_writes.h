#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/messages/said.h"
#include "sys/os/fs_root.h"

namespace cb {

// Several writes to one file at a time. The data of each stays until it has ended; the destructor
// waits for those that were begun.
class BlockWrites {
 public:
  struct Ended {
    size_t tag = 0;
    int64_t result = 0;  // bytes, perhaps fewer than were given, or -errno
  };

  virtual ~BlockWrites() = default;
  virtual void begin(size_t tag, std::span<std::byte> data, uint64_t offset) = 0;
  // Waits for one that was begun; there must be one. It has no limit of time: the data must stay
  // until then, and the watchdog of the process watches for a device that never answers.
  virtual Ended next() = 0;
  virtual Said how() const = 0;
};

// By io_uring, `most` at a time out of `buffers`. Throws UringUnavailable.
std::unique_ptr<BlockWrites> ring_writes(int fd, unsigned most, std::span<std::byte> buffers,
                                         const FsRoot& fs);
// By a blocking thread for each.
std::unique_ptr<BlockWrites> thread_writes(int fd);

}  // namespace cb
