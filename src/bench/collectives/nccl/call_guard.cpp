#include "bench/collectives/nccl/call_guard.h"

#include <chrono>
#include <utility>

#include "core/clock.h"

namespace cb::nccl {
namespace {

constexpr auto kGlance = std::chrono::milliseconds(50);
constexpr double kWasLate = -1;

}  // namespace

CallGuard::CallGuard(OnLate on_late) : on_late_(std::move(on_late)), thread_([this] { loop(); }) {}

CallGuard::~CallGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void CallGuard::begin(const char* what, double seconds) noexcept {
  what_ = what;
  seconds_ = seconds;
  deadline_.store(monotonic_seconds() + seconds, std::memory_order_release);
}

bool CallGuard::end() noexcept { return deadline_.exchange(0) != kWasLate; }

void CallGuard::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, kGlance);
    lock.unlock();
    look();
    lock.lock();
  }
}

void CallGuard::look() {
  double deadline = deadline_.load(std::memory_order_acquire);
  if (deadline <= 0 || monotonic_seconds() < deadline) return;
  // The call may have ended meanwhile, and another one may have begun.
  if (deadline_.compare_exchange_strong(deadline, kWasLate)) on_late_(what_, seconds_);
}

}  // namespace cb::nccl
