// Does all that an engine does for a request except the request: order, clock, histogram, rates.
// Its cost is what the tool itself adds to each request.
#include <vector>

#include "bench/storage/io/worker.h"
#include "sys/storage/slot_buffers.h"

namespace cb::io {

void work_with_nothing(Worker& worker, const std::function<void()>& start) {
  const SlotBuffers buffers(worker.job().queue_depth, worker.job().block_bytes);
  std::vector<Slot> slots(worker.job().queue_depth);
  for (size_t i = 0; i < slots.size(); ++i) slots[i].data = buffers.slot(i);
  worker.how = said("io.no_request");
  start();
  double now = worker.now();
  for (Next next = Next::ready; next != Next::none && !worker.wrong;) {
    size_t filled = 0;
    while (filled < slots.size() && (next = worker.next(slots[filled], now)) == Next::ready)
      ++filled;
    if (filled == 0 && next == Next::later) worker.wait_until_due();
    now = worker.now();
    for (size_t i = 0; i < filled; ++i) worker.complete(slots[i], slots[i].op.length, now);
    worker.tell_progress();
  }
}

}  // namespace cb::io
