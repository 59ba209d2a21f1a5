#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace cb {

// What this rank is doing, as the watchdog tells it when time is up.
struct WatchState {
  std::string doing;           // case and parameters
  std::string note;            // "warm-up", "sampling", "waiting for rank 3"
  uint64_t entered = 0;        // collective steps begun since armed
  uint64_t iterations = 0;     // finished since armed
  double idle_seconds = 0;     // since the last progress
  double used_up_seconds = 0;  // the whole deadline where that has passed though it moved; else 0
  std::string failure = {};    // why it measures no more, while it waits for the others to hear it
  bool met = false;            // in a Meeting
};

// A thread that calls `on_expiry` once when an armed deadline passes without progress() for
// `idle_limit` or when the whole deadline passes. It never touches MPI itself.
class Watchdog {
 public:
  using OnExpiry = std::function<void(const WatchState&)>;

  explicit Watchdog(OnExpiry on_expiry);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From now on: at most `total_seconds` in all and `idle_seconds` without progress().
  void arm(std::string doing, double total_seconds, double idle_seconds);
  void disarm();
  // Time is up now: what the caller has waited for will not come. Comes back after heard(), in
  // three seconds at the latest: what the caller then breaks, such as a communicator that it
  // shares, makes others fail, and only who was heard before is not taken for their victim.
  void expire();
  // Those to whom on_expiry speaks know what every rank was doing. From any thread.
  void heard();
  void note(std::string text);
  // This rank has failed and is about to tell the others; the next note() ends that.
  void fail(std::string why);
  // About to wait for other ranks in a step that progress() will end. One relaxed store.
  void enter() noexcept {
    entered_.store(iterations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void progress() noexcept;  // cheap: one relaxed store and a clock read
  // Moves inside a step, or outside of all: not idle, but no step is counted. Ranks do such things
  // in different numbers, and who is behind is told by equal numbers of steps.
  void alive() noexcept;
  // All ranks have met, and count from `steps` on: what they did apart, in different numbers, makes
  // nobody behind. The same number on every rank.
  void count_from(uint64_t steps) noexcept;

  // A wait for other ranks that counts no step: who has not come to it is behind those that wait in
  // it. Within another wait, or a step, it is a part of that. Null: nobody is told.
  class Waiting {
   public:
    explicit Waiting(Watchdog* watchdog)
        : watchdog_(watchdog != nullptr && watchdog->begin_wait() ? watchdog : nullptr) {}
    ~Waiting() {
      if (watchdog_ != nullptr) watchdog_->end_wait();
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Watchdog* watchdog_;
  };

  // Done with all that ranks measure apart, in different numbers of steps, and waiting where they
  // meet: such a rank is behind nobody, however many steps it has done.
  class Meeting {
   public:
    explicit Meeting(Watchdog& watchdog) : watchdog_(watchdog) { watchdog.met_ = true; }
    ~Meeting() { watchdog_.met_ = false; }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

   private:
    Watchdog& watchdog_;
  };

  // For its life another limit of idleness than arm()'s. Its begin and its end are progress.
  class IdleLimit {
   public:
    IdleLimit(Watchdog& watchdog, double seconds)
        : watchdog_(watchdog), before_(watchdog.limit_idle(seconds)) {}
    ~IdleLimit() { watchdog_.limit_idle(before_); }
    IdleLimit(const IdleLimit&) = delete;
    IdleLimit& operator=(const IdleLimit&) = delete;

   private:
    Watchdog& watchdog_;
    double before_;
  };

  // Around a step that ends within `seconds` by a deadline of its own, such as a round of
  // transfers: the rank is not idle before that, though no progress() comes. Its end is progress.
  class Bounded {
   public:
    Bounded(Watchdog& watchdog, double seconds) : watchdog_(watchdog) { watchdog.bound(seconds); }
    ~Bounded() { watchdog_.bound(0); }
    Bounded(const Bounded&) = delete;
    Bounded& operator=(const Bounded&) = delete;

   private:
    Watchdog& watchdog_;
  };

  WatchState state() const;
  // Seconds of the whole deadline as arm() got it; nothing while it is not armed.
  std::optional<double> total_seconds() const;

 private:
  void loop();
  bool begin_wait() noexcept;  // false: it is inside a step already
  void end_wait() noexcept;
  double limit_idle(double seconds);  // gives the limit until now
  void bound(double seconds);
  double expiry_locked() const;
  WatchState state_locked(double now) const;

  OnExpiry on_expiry_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string doing_;
  std::string note_;
  std::string failure_;
  double deadline_ = 0;  // monotonic seconds; 0: not armed
  double total_seconds_ = 0;
  double armed_ = 0;  // monotonic seconds
  double idle_limit_ = 0;
  double bounded_until_ = 0;  // monotonic seconds; 0: not in such a step
  bool heard_ = false;
  bool stopping_ = false;
  std::atomic<uint64_t> entered_{0};
  std::atomic<uint64_t> iterations_{0};
  std::atomic<double> last_progress_{0};
  std::atomic<bool> met_{false};
  std::thread thread_;
};

}  // namespace cb
