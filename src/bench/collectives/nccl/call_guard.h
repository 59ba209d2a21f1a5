#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cb::nccl {

// A deadline for calls that block: a thread of its own looks at the one that is under way, and
// calls `on_late` once when its time has passed. Beginning and ending a call cost a store each.
class CallGuard {
 public:
  using OnLate = std::function<void(const char* what, double seconds)>;

  explicit CallGuard(OnLate on_late);
  ~CallGuard();  // waits for on_late
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

  void begin(const char* what, double seconds) noexcept;
  // False: the call was late, and on_late has begun.
  bool end() noexcept;

 private:
  void loop();
  void look();

  OnLate on_late_;
  const char* what_ = "";  // both are the guard's while deadline_ says that the call was late
  double seconds_ = 0;
  std::atomic<double> deadline_{0};  // monotonic seconds; 0: no call; -1: it was late
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cb::nccl
