#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "sys/os/left_behind.h"

namespace cb {

// Calls f on a thread of its own and returns its result, or nothing if f has not returned after
// `seconds`. The thread is then left behind, because a call stuck in a driver cannot be ended: f
// must own all that it uses. Rethrows what f throws.
template <typename Result>
std::optional<Result> call_with_deadline(double seconds, std::function<Result()> f) {
  const auto task = std::make_shared<std::packaged_task<Result()>>(std::move(f));
  std::future<Result> result = task->get_future();
  run_left_behind([task] { (*task)(); });
  if (result.wait_for(std::chrono::duration<double>(seconds)) != std::future_status::ready)
    return std::nullopt;
  return result.get();
}

}  // namespace cb
