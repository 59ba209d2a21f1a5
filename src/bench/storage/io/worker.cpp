#include "bench/storage/io/worker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

namespace cb::io {
namespace {

Said advice(int error) {
  switch (error) {
    case ENOSPC:
      return said("next.space");
    case EDQUOT:
      return said("next.quota");
    case EROFS:
      return said("next.read_only");
    case ESTALE:
      return said("next.server_forgot");
    case ENODEV:
    case ENXIO:
      return said("next.device_gone");
    case EOPNOTSUPP:
      return said("next.not_supported");
    case EIO:
      return said("next.device_health");
    case EINVAL:
      return said("next.alignment");
    default:
      return said("next.mount");
  }
}

}  // namespace

Said failure_text(int error) {
  const char* symbol = ::strerrorname_np(error);
  return said("io.failure", std::strerror(error), symbol == nullptr ? "unknown" : symbol,
              advice(error));
}

IoError request_error(Direction direction, const Op& op, const std::string& path, int error) {
  return IoError(said("io.request_failed", direction_name(direction), op.length, op.offset, path,
                      error == 0 ? said("io.ended_file") : failure_text(error)));
}

// Sets due_ to now, or to the time that the plan gives. Returns no request if its time has not
// come.
std::optional<Op> Worker::take(double now) {
  std::unique_lock lock(feed_.mutex, std::defer_lock);
  if (locked_) lock.lock();
  due_ = now;
  if (feed_.due_step > 0) {
    due_ = shared_.start + feed_.first_due + static_cast<double>(feed_.planned) * feed_.due_step;
    if (due_ > now) return std::nullopt;
    ++feed_.planned;
  }
  return feed_.source.next();
}

void Worker::wait_until_due() const {
  constexpr double kMax = 0.1, kSpin = 100e-6;  // kSpin: a sleep ends late by about 60 µs
  const double wait = std::min(due_ - now(), kMax) - kSpin;
  if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
}

Next Worker::next(Slot& slot, double now) {
  if (now >= shared_.count_until.load(std::memory_order_relaxed) || stopped()) return Next::none;
  const auto op = take(now);
  if (!op) return due_ > now ? Next::later : Next::none;
  slot.op = *op;
  slot.done = 0;
  slot.intended = due_;
  if (op->direction == Direction::read) {
    slot.phase = -1;
    return Next::ready;
  }
  const std::span data{slot.data, op->length};
  const auto phase = static_cast<int64_t>(op->offset % shared_.file.pattern->period());
  if (slot.phase == phase) {
    shared_.file.pattern->stamp(data, op->offset, job().generation);
  } else {
    shared_.file.pattern->fill(data, op->offset, job().generation);
  }
  // A shorter last block leaves the rest of the slot as it was.
  slot.phase = op->length == job().block_bytes ? phase : -1;
  if (shared_.faulty_write == op->offset) {
    spoil(slot);
    shared_.write_spoilt.store(true, std::memory_order_relaxed);
  }
  return Next::ready;
}

void Worker::spoil(Slot& slot) const {
  spoil_block(slot.data, slot.op.length);
  slot.phase = -1;  // the random bytes are spoilt: a later request must not reuse them
}

bool Worker::complete(Slot& slot, int64_t result, double now) {
  if (result == -EINTR || result == -EAGAIN) return false;
  if (result == 0 && shared_.file.is_device) result = -ENODEV;
  if (result <= 0)
    throw request_error(slot.op.direction, slot.op, shared_.file.path, static_cast<int>(-result));
  slot.done += static_cast<uint32_t>(result);
  if (slot.done < slot.op.length) return false;
  const auto direction = static_cast<size_t>(slot.op.direction);
  bytes[direction] += slot.op.length;
  const double from = shared_.count_from.load(std::memory_order_relaxed);
  if (now >= from && now <= shared_.count_until.load(std::memory_order_relaxed)) {
    // A thread that moved to another core may find that core's counter some nanoseconds behind.
    tally[direction].add(std::max(0.0, now - slot.intended), now - from, slot.op.length);
    last = now;
  }
  ++finished_ios;
  finished_bytes_ += slot.op.length;
  if (slot.op.direction == Direction::read && shared_.file.content_known && until_check_-- == 0) {
    until_check_ = job().check_every - 1;
    if (shared_.spoil_read.exchange(false, std::memory_order_relaxed)) spoil(slot);
    check(slot);
  }
  return true;
}

void Worker::check(const Slot& slot) {
  if (wrong) return;  // later completions of the same batch must not hide the first mismatch
  ++blocks_checked;
  const std::span<const std::byte> data{slot.data, slot.op.length};
  // In a mixed run each sector of a block may be as prepared or as written.
  wrong = job().either_generation()
              ? shared_.file.pattern->check(data, slot.op.offset,
                                            {Pattern::kPrepared, Pattern::kWritten})
              : shared_.file.pattern->check(data, slot.op.offset, {Pattern::kPrepared});
  if (wrong) shared_.stop = true;
}

}  // namespace cb::io
