#include "core/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace cb {
namespace {

constexpr size_t kMaxThreads = 8;  // with more threads, memory and disk are the limit

// Calls that several threads share.
class SharedCalls {
 public:
  SharedCalls(size_t count, const std::function<void(size_t)>& f) : count_(count), f_(f) {}

  void work() {
    for (size_t i = next_++; i < count_ && !stop_; i = next_++) attempt([&] { f_(i); });
  }

  // The first failure stays, and no further call begins.
  template <typename Call>
  void attempt(const Call& call) {
    try {
      call();
    } catch (...) {
      if (!stop_.exchange(true)) failure_ = std::current_exception();
    }
  }

  // This thread runs `own`, then helps `others` threads.
  void run(size_t others, const std::function<void()>& own) {
    {
      std::vector<std::jthread> threads;
      start(threads, std::min(others, count_));
      attempt(own);
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void start(std::vector<std::jthread>& threads, size_t wanted) {
    try {
      while (threads.size() < wanted) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system has no further thread: those that are there do it.
    }
  }

  const size_t count_;
  const std::function<void(size_t)>& f_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
};

// 0 where the kernel does not say, as on a host of more CPUs than the set has room for.
size_t allowed_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  return static_cast<size_t>(CPU_COUNT(&allowed));
}

}  // namespace

size_t calls_at_a_time() {
  const size_t allowed = allowed_count();
  return std::clamp<size_t>(allowed > 0 ? allowed : std::thread::hardware_concurrency(), 1,
                            kMaxThreads);
}

void on_all_processors(size_t count, const std::function<void(size_t)>& f) {
  const size_t at_a_time = std::clamp<size_t>(count, 1, calls_at_a_time());
  SharedCalls(count, f).run(at_a_time - 1, [] {});
}

void on_other_processors(const std::function<void()>& own, size_t count,
                         const std::function<void(size_t)>& f) {
  SharedCalls(count, f).run(std::max<size_t>(calls_at_a_time(), 2) - 1, own);
}

}  // namespace cb
