#include "sys/storage/file_stream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "sys/storage/uring.h"

namespace cb {
namespace {

bool is_in_memory(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

// The flag is set on the open file: opening with it could leave an empty file behind where it is
// refused.
bool set_direct(int fd, bool direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

// The block that waits for the head, the one that is being filled, and those in flight; no more
// than the file has.
size_t slots_of(const FileStreamPlan& plan) {
  const uint64_t blocks = (plan.bytes + plan.block_bytes - 1) / plan.block_bytes;
  return std::clamp<uint64_t>(blocks, 1, plan.in_flight + 2);
}

// Whatever else keeps the file system from it shows when it is written.
void reserve(int fd, const std::filesystem::path& path, uint64_t bytes) {
  if (bytes == 0 || ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) throw_not_written(path, errno);
}

}  // namespace

FileStream::FileStream(int fd, std::filesystem::path path, const FileStreamPlan& plan,
                       const FsRoot& fs)
    : fd_(fd),
      path_(std::move(path)),
      plan_(plan),
      in_memory_(is_in_memory(fd)),
      direct_(plan.direct && !in_memory_ && set_direct(fd, true)),
      buffers_(slots_of(plan), plan.block_bytes),
      blocks_(slots_of(plan)) {
  if (direct_) take_alignment(direct_alignment(fd, fs));
  reserve(fd, path_, plan.bytes);
  for (size_t slot = blocks_.size(); slot-- > 1;) free_.push_back(slot);
  blocks_[0].length = plan.head_bytes;
  if (plan.ring) {
    try {
      writes_ = ring_writes(fd, static_cast<unsigned>(blocks_.size()), buffers_.whole(), fs);
    } catch (const UringUnavailable& e) {
      why_no_ring_ = e.said();
    }
  }
  if (!writes_) writes_ = thread_writes(fd);
}

void FileStream::take_alignment(const Alignment& alignment) {
  alignment_ = alignment.offset;
  if (alignment.refused) write_buffered();
}

void FileStream::write_buffered() {
  set_direct(fd_, false);
  direct_ = false;
  alignment_ = 1;
}

void FileStream::add(std::string_view bytes) {
  while (!bytes.empty()) {
    if (blocks_[current_].length == plan_.block_bytes) close_block();
    Block& block = blocks_[current_];
    const size_t length = std::min(bytes.size(), plan_.block_bytes - block.length);
    std::memcpy(buffers_.slot(current_) + block.length, bytes.data(), length);
    block.length += length;
    bytes.remove_prefix(length);
  }
}

// Begins to write the block that is full, and takes another slot for the one behind it.
void FileStream::close_block() {
  const uint64_t next = blocks_[current_].offset + plan_.block_bytes;
  const double start = monotonic_seconds();
  if (current_ != 0) begin(current_);
  while (free_.empty()) wait_for_one();
  waited_seconds_ += monotonic_seconds() - start;
  current_ = free_.back();
  free_.pop_back();
  blocks_[current_] = {.offset = next};
}

// A direct write is whole units long. Only the last block is made so: what stands behind the file's
// end is cut off by finish(), and behind another block stands the next one.
void FileStream::begin(size_t slot) {
  Block& block = blocks_[slot];
  block.direct = direct_;
  uint64_t length = block.length;
  if (block.offset + block.length >= plan_.bytes) {
    const uint64_t whole = (length + alignment_ - 1) / alignment_ * alignment_;
    length = std::min(whole, SlotBuffers::stride(plan_.block_bytes));
  }
  writes_->begin(slot, {buffers_.slot(slot) + block.done, length - block.done},
                 block.offset + block.done);
  ++in_flight_;
}

void FileStream::wait_for_one() {
  const BlockWrites::Ended ended = writes_->next();
  --in_flight_;
  Block& block = blocks_[ended.tag];
  if (ended.result == -EINVAL && block.direct) {
    // A file system that takes the flag and refuses the writes, of which several may be under way.
    write_buffered();
  } else if (ended.result == -EAGAIN) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } else if (ended.result == 0) {
    throw_not_written(path_, EIO);
  } else if (ended.result < 0 && ended.result != -EINTR) {
    throw_not_written(path_, static_cast<int>(-ended.result));
  }
  block.done += static_cast<size_t>(std::max<int64_t>(0, ended.result));
  if (block.done < block.length)
    begin(ended.tag);
  else
    free_.push_back(ended.tag);
}

void FileStream::finish(std::string_view head) {
  if (current_ != 0) begin(current_);
  std::memcpy(buffers_.slot(0), head.data(), std::min(head.size(), plan_.head_bytes));
  begin(0);
  while (in_flight_ > 0) wait_for_one();
  if (::ftruncate(fd_, static_cast<off_t>(plan_.bytes)) != 0) throw_not_written(path_, errno);
}

Said FileStream::how() const {
  const char* path = in_memory_ ? "io.tmpfs" : direct_ ? "io.direct" : "io.page_cache";
  std::vector<Said> out{said(path), writes_->how()};
  if (why_no_ring_) out.push_back(*why_no_ring_);
  return said_names(out);
}

}  // namespace cb
