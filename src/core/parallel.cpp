#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace cb {

void on_all_processors(size_t count, const std::function<void(size_t)>& f) {
  constexpr size_t kMaxThreads = 8;  // with more threads, memory and disk are the limit
  std::atomic<size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t i = next++; i < count && !stop; i = next++) {
      try {
        f(i);
      } catch (...) {
        if (!stop.exchange(true)) failure = std::current_exception();
      }
    }
  };
  const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cb
