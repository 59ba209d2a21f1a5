#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/result.h"

namespace cb {

// Set by SIGINT and SIGTERM; cases and the sampler look at it between iterations.
class CancelToken {
 public:
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

// Thrown where a cancelled measurement stops. A case throws it without records: what it has
// finished is kept. run_case() passes it on with what all ranks had finished.
class Interrupted : public Error {
 public:
  explicit Interrupted(std::vector<Record> finished = {})
      : Error(cb::said("run.interrupted"), ExitCode::interrupted), finished_(std::move(finished)) {}
  const std::vector<Record>& finished() const noexcept { return finished_; }

 private:
  std::vector<Record> finished_;
};

}  // namespace cb
