// Blocking pread and pwrite: a queue depth of N is N threads that share one order of requests. This
// is the fallback where io_uring is not allowed, and a second opinion where it is.
#include <cerrno>

#include <unistd.h>

#include "bench/storage/io/worker.h"
#include "sys/storage/slot_buffers.h"

namespace cb::io {
namespace {

int64_t transfer(int fd, const Slot& slot) {
  std::byte* data = slot.data + slot.done;
  const size_t length = slot.op.length - slot.done;
  const auto offset = static_cast<off_t>(slot.op.offset + slot.done);
  const ssize_t rc = slot.op.direction == Direction::read ? ::pread(fd, data, length, offset)
                                                          : ::pwrite(fd, data, length, offset);
  return rc < 0 ? -errno : rc;
}

}  // namespace

void work_with_blocking_calls(Worker& worker, const std::function<void()>& start) {
  const SlotBuffers buffers(1, worker.job().block_bytes);
  Slot slot{.data = buffers.slot(0)};
  worker.how = said("io.pread");
  start();
  double now = worker.now();
  while (!worker.wrong) {
    const Next next = worker.next(slot, now);
    if (next == Next::none) break;
    if (next == Next::later) {
      worker.wait_until_due();
      now = worker.now();
      continue;
    }
    bool whole = false;
    while (!whole) {
      const int64_t result = transfer(worker.fd(), slot);
      now = worker.now();
      whole = worker.complete(slot, result, now);
    }
    worker.tell_progress();
  }
}

}  // namespace cb::io
