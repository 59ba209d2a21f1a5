#include "bench/io/worker.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace cb::io {
namespace {

std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space or raise the quota, or lower --size";
    case EIO:
      return "look at the kernel log (dmesg) and the device's health (smartctl, nvme smart-log)";
    case EINVAL:
      return "the filesystem refuses this alignment: try a larger --block-size or --no-direct";
    default:
      return "look at the kernel log (dmesg) and the mount";
  }
}

}  // namespace

Error request_error(Direction direction, const Op& op, const std::string& path, int error) {
  const std::string what = error == 0 ? "end of file" : std::strerror(error);
  return Error(fmt::format("{} of {} bytes at offset {} of {} failed: {}; next: {}",
                           direction_name(direction), op.length, op.offset, path, what,
                           error == 0 ? "the file is shorter than when it was opened; find who "
                                        "changes it"
                                      : advice(error)));
}

std::optional<Op> Worker::take() {
  if (!locked_) return feed_.source.next();
  const std::lock_guard lock(feed_.mutex);
  return feed_.source.next();
}

bool Worker::next(Slot& slot, double now) {
  if (now >= shared_.count_until || stopped()) return false;
  const auto op = take();
  if (!op) return false;
  slot.op = *op;
  slot.done = 0;
  slot.intended = now;
  if (op->direction == Direction::read) {
    slot.phase = -1;
    return true;
  }
  const std::span data{slot.data, op->length};
  const auto phase = static_cast<int64_t>(op->offset % Pattern::kPeriod);
  if (slot.phase == phase) {
    shared_.file.pattern->stamp(data, op->offset, job().generation);
  } else {
    shared_.file.pattern->fill(data, op->offset, job().generation);
  }
  // A shorter last block leaves the rest of the slot as it was.
  slot.phase = op->length == job().block_bytes ? phase : -1;
  return true;
}

bool Worker::complete(Slot& slot, int64_t result, double now) {
  if (result == -EINTR || result == -EAGAIN) return false;
  if (result <= 0)
    throw request_error(slot.op.direction, slot.op, shared_.file.path, static_cast<int>(-result));
  slot.done += static_cast<uint32_t>(result);
  if (slot.done < slot.op.length) return false;
  const auto direction = static_cast<size_t>(slot.op.direction);
  bytes[direction] += slot.op.length;
  if (now >= shared_.count_from && now <= shared_.count_until) {
    tally[direction].add(now - slot.intended, now - shared_.count_from, slot.op.length);
    last = now;
  }
  shared_.finished.fetch_add(slot.op.length, std::memory_order_relaxed);
  if (slot.op.direction == Direction::read && shared_.file.content_known &&
      reads_++ % job().check_every == 0)
    check(slot);
  return true;
}

void Worker::check(const Slot& slot) {
  if (wrong) return;  // later completions of the same batch do not hide the first
  ++blocks_checked;
  const std::span<const std::byte> data{slot.data, slot.op.length};
  // In a mixed run a block is as prepared or as written, sector by sector.
  wrong = job().writes() ? shared_.file.pattern->check(data, slot.op.offset,
                                                       {Pattern::kPrepared, Pattern::kWritten})
                         : shared_.file.pattern->check(data, slot.op.offset, {Pattern::kPrepared});
  if (wrong) shared_.stop = true;
}

}  // namespace cb::io
