#include "bench/gpu/cuda/paced_queue.h"

namespace cb {
namespace {

// A stream takes about a thousand. Two times this, and what one call queues, are less.
constexpr int kMostBetweenMarks = 200;

}  // namespace

void PacedQueue::launched(int code, const char* kernel, int launches) {
  cuda::check_launch(code, kernel);
  counted(launches);
}

void PacedQueue::counted(int launches) {
  queued_ += launches;
  if (queued_ < kMostBetweenMarks) return;
  queued_ = 0;
  marks_[turn_].record(stream_);
  marked_[turn_] = true;
  turn_ = 1 - turn_;
  if (marked_[turn_]) marks_[turn_].spin(hang_seconds_, what_);
}

void PacedQueue::wait() {
  cuda::wait(stream_, hang_seconds_, what_);
  marked_ = {};
  queued_ = 0;
}

void PacedQueue::fetch(void* to, const void* from, size_t bytes) {
  cuda::fetch(to, from, bytes, stream_, hang_seconds_, what_);
}

}  // namespace cb
