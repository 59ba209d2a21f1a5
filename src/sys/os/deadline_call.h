#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace cb {

// Calls f on a thread of its own and returns its result, or nothing if f has not returned after
// `seconds`. The thread is then left behind, because a call stuck in a driver cannot be ended: f
// must own all that it uses. Rethrows what f throws.
template <typename Result>
std::optional<Result> call_with_deadline(double seconds, std::function<Result()> f) {
  std::packaged_task<Result()> task(std::move(f));
  std::future<Result> result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(std::chrono::duration<double>(seconds)) != std::future_status::ready)
    return std::nullopt;
  return result.get();
}

}  // namespace cb
