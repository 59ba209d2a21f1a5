#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/result.h"

namespace cb {

// Hands on what every rank has finished, so that it outlives rank 0: a process that is killed says
// no last words. Spends little of the job's time on it, however large the records are. One thread.
class FinishedKeeper {
 public:
  explicit FinishedKeeper(std::function<void(std::vector<Record>)> keep) : keep_(std::move(keep)) {}

  // `complete`: how many records every rank has published. `join` gives them.
  void offer(size_t complete, const std::function<std::vector<Record>()>& join) {
    if (!keep_ || complete <= kept_) return;
    const double begin = monotonic_seconds();
    if (spent_ > kFreeSeconds + kShare * (begin - began_)) return;
    keep_(join());
    spent_ += monotonic_seconds() - begin;
    kept_ = complete;
  }

 private:
  static constexpr double kShare = 0.01;        // of the job's time
  static constexpr double kFreeSeconds = 0.05;  // of short jobs

  std::function<void(std::vector<Record>)> keep_;
  double began_ = monotonic_seconds();
  double spent_ = 0;
  size_t kept_ = 0;
};

}  // namespace cb
