#pragma once

#include <atomic>

#include "core/error.h"

namespace cb {

// Set by SIGINT and SIGTERM; cases and the sampler look at it between iterations.
class CancelToken {
 public:
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

// Thrown where a cancelled measurement stops.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted", ExitCode::interrupted) {}
};

}  // namespace cb
