#pragma once

#include <array>
#include <string>

#include "sys/gpu/cuda/cuda.h"

namespace cb {

// A stream of the selected device that never holds more launches than the driver takes at once: the
// next launch would wait within the driver, where no deadline ends it. So the host waits here, for
// what is well before the last launch, that the device never runs out of work meanwhile.
class PacedQueue {
 public:
  // `hang_seconds`: a longer wait throws Error (deadline) naming `what` and the device.
  PacedQueue(double hang_seconds, std::string what, cuda::Priority priority = {})
      : hang_seconds_(hang_seconds), what_(std::move(what)), stream_(priority) {}

  const cuda::Stream& stream() const { return stream_; }
  void* handle() const { return stream_.handle(); }
  // Throws Error if `code`, which the launcher of that kernel returned, is not success. Counts.
  void launched(int code, const char* kernel, int launches = 1);
  // Counts launches of any kind, and of any stream that this one waits for.
  void counted(int launches);
  // Until all that was queued has been done.
  void wait();
  // Bytes of the device that all that was queued has computed.
  void fetch(void* to, const void* from, size_t bytes);

 private:
  double hang_seconds_;
  std::string what_;
  cuda::Stream stream_;
  std::array<cuda::Event, 2> marks_;
  std::array<bool, 2> marked_{};
  size_t turn_ = 0;
  int queued_ = 0;  // since the last mark
};

}  // namespace cb
