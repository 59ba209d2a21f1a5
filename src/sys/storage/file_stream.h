#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/messages/said.h"
#include "sys/os/fs_root.h"
#include "sys/storage/block_writes.h"
#include "sys/storage/direct_io.h"
#include "sys/storage/slot_buffers.h"

namespace cb {

// How a file is written. The defaults are those of `io --workload checkpoint-write`.
struct FileStreamPlan {
  uint64_t bytes = 0;  // of the whole file
  // The first bytes are known last: room is left for them. At most one block.
  size_t head_bytes = 0;
  size_t block_bytes = size_t{4} << 20;
  unsigned in_flight = 4;  // blocks that are being written at a time
  bool direct = true;      // past the page cache, where the file system can
  bool ring = true;        // by io_uring where this process may, else by blocking threads
};

// Writes an empty file from its begin to its end. While blocks are being written the next one is
// filled: what the caller does meanwhile, such as digests, hides behind the device, or the device
// behind it. Flushes nothing.
class FileStream {
 public:
  // Takes the file's space where the file system can: a full disk is found before anything is
  // written. `path` is for messages. Throws Error naming it, as do add() and finish().
  FileStream(int fd, std::filesystem::path path, const FileStreamPlan& plan, const FsRoot& fs);
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  // Takes the next bytes behind the head: in all plan.bytes − plan.head_bytes.
  void add(std::string_view bytes);
  // Writes what is left and the head. Returns when the kernel has taken all.
  void finish(std::string_view head);
  // What add() has spent until now on submitting blocks and waiting for them.
  double waited_seconds() const { return waited_seconds_; }
  // "direct, io_uring: SINGLE_ISSUER DEFER_TASKRUN, registered ring".
  Said how() const;

 private:
  struct Block {
    uint64_t offset = 0;
    size_t length = 0;
    size_t done = 0;      // a write may be short
    bool direct = false;  // how its write was begun
  };

  void take_alignment(const Alignment& alignment);
  void write_buffered();
  void close_block();
  void begin(size_t slot);
  void wait_for_one();

  int fd_;
  std::filesystem::path path_;
  FileStreamPlan plan_;
  bool in_memory_ = false;
  bool direct_ = false;
  uint64_t alignment_ = 1;  // of a direct write's length
  SlotBuffers buffers_;
  std::vector<Block> blocks_;  // by slot; the first slot is kept for the head
  std::vector<size_t> free_;
  size_t current_ = 0;  // the slot that is being filled
  size_t in_flight_ = 0;
  double waited_seconds_ = 0;
  std::optional<Said> why_no_ring_;
  std::unique_ptr<BlockWrites> writes_;  // ends before the buffers go
};

}  // namespace cb
