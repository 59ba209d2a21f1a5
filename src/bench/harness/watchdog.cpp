#include "bench/harness/watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/clock.h"

namespace cb {
namespace {

// Who cannot be reached is not waited for longer.
constexpr auto kHeardWithin = std::chrono::seconds(3);

}  // namespace

Watchdog::Watchdog(OnExpiry on_expiry)
    : on_expiry_(std::move(on_expiry)), thread_([this] { loop(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watchdog::arm(std::string doing, double total_seconds, double idle_seconds) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(doing);
  note_.clear();
  failure_.clear();
  const double now = monotonic_seconds();
  armed_ = now;
  total_seconds_ = total_seconds;
  deadline_ = now + total_seconds;
  idle_limit_ = idle_seconds;
  heard_ = false;
  bounded_until_ = 0;
  entered_ = 0;
  iterations_ = 0;
  last_progress_ = now;
  wake_.notify_all();
}

void Watchdog::disarm() {
  const std::lock_guard lock(mutex_);
  deadline_ = 0;
}

void Watchdog::expire() {
  std::unique_lock lock(mutex_);
  if (deadline_ != 0) deadline_ = monotonic_seconds();
  wake_.notify_all();
  wake_.wait_for(lock, kHeardWithin, [this] { return heard_; });
}

void Watchdog::heard() {
  const std::lock_guard lock(mutex_);
  heard_ = true;
  wake_.notify_all();
}

double Watchdog::limit_idle(double seconds) {
  const std::lock_guard lock(mutex_);
  last_progress_ = monotonic_seconds();
  wake_.notify_all();
  return std::exchange(idle_limit_, seconds);
}

void Watchdog::note(std::string text) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(text);
  failure_.clear();
  last_progress_ = monotonic_seconds();
}

void Watchdog::fail(std::string why) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(why);
}

void Watchdog::progress() noexcept {
  iterations_.fetch_add(1, std::memory_order_relaxed);
  alive();
}

bool Watchdog::begin_wait() noexcept {
  if (entered_.load(std::memory_order_relaxed) > iterations_.load(std::memory_order_relaxed))
    return false;
  enter();
  return true;
}

void Watchdog::end_wait() noexcept {
  entered_.store(iterations_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  alive();
}

void Watchdog::alive() noexcept {
  last_progress_.store(monotonic_seconds(), std::memory_order_relaxed);
}

void Watchdog::count_from(uint64_t steps) noexcept {
  iterations_ = steps;
  entered_ = steps;
  alive();
}

void Watchdog::bound(double seconds) {
  const std::lock_guard lock(mutex_);
  const double now = monotonic_seconds();
  bounded_until_ = seconds > 0 ? now + seconds : 0;
  last_progress_ = now;
}

double Watchdog::expiry_locked() const {
  return std::min(deadline_, std::max(last_progress_.load(), bounded_until_) + idle_limit_);
}

WatchState Watchdog::state() const {
  const std::lock_guard lock(mutex_);
  return state_locked(monotonic_seconds());
}

std::optional<double> Watchdog::total_seconds() const {
  const std::lock_guard lock(mutex_);
  return deadline_ == 0 ? std::nullopt : std::optional(total_seconds_);
}

WatchState Watchdog::state_locked(double now) const {
  const double idle = now - last_progress_.load();
  const bool used_up = now >= armed_ + total_seconds_ && idle < idle_limit_;
  return {doing_,
          note_,
          std::max(entered_.load(), iterations_.load()),
          iterations_.load(),
          idle,
          used_up ? total_seconds_ : 0,
          failure_,
          met_.load()};
}

void Watchdog::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (deadline_ == 0) {
      wake_.wait(lock);
      continue;
    }
    const double now = monotonic_seconds();
    const double expiry = expiry_locked();
    if (now >= expiry) {
      deadline_ = 0;
      const WatchState state = state_locked(now);
      lock.unlock();
      on_expiry_(state);
      lock.lock();
    } else {
      wake_.wait_for(lock, std::chrono::duration<double>(std::min(expiry - now, 1.0)));
    }
  }
}

}  // namespace cb
