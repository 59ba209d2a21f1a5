#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cb::nccl {

// A deadline for calls that block. A thread of its own watches the current call and calls `on_late`
// once if its time has passed. The begin and the end of a call cost one store each.
class CallGuard {
 public:
  using OnLate = std::function<void(const char* what, double seconds)>;

  explicit CallGuard(OnLate on_late);
  ~CallGuard();  // waits for on_late
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

  void begin(const char* what, double seconds) noexcept;
  // False if the call was late; on_late has then begun.
  bool end() noexcept;

 private:
  void loop();
  void look();

  OnLate on_late_;
  const char* what_ = "";  // what_ and seconds_ belong to the guard while deadline_ is -1
  double seconds_ = 0;
  std::atomic<double> deadline_{0};  // monotonic seconds; 0: no call; -1: the call was late
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cb::nccl
