#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/tcp/connection.h"
#include "bench/tcp/spec.h"
#include "bench/tcp/zero_copy.h"

// The threads that move the data of a bandwidth measurement: one per connection and direction.
namespace cb::tcp {

enum class Phase : int { warm_up, try_copy, try_zero_copy, settle, measured, over };
constexpr size_t kPhases = 6;

// What one thread did in one phase.
struct Tally {
  uint64_t bytes = 0;
  double seconds = 0;      // wall clock
  double cpu_seconds = 0;  // of this thread, user and system
  void add(const Tally& other);
};

// What the conductor of a transfer tells its threads.
struct Baton {
  std::atomic<Phase> phase{Phase::warm_up};
  std::atomic<bool> zero_copy{false};  // in phase measured
  std::atomic<bool> abort{false};      // end at once, whatever is missing
};

// Counts a thread's bytes, time and CPU by phase.
class Accountant {
 public:
  explicit Accountant(const Baton& baton) : baton_(baton) {}
  void begin();  // on the thread itself
  Phase look();  // the phase now; closes the books of the one before when it has changed
  void close();  // at the end of the thread
  void add(uint64_t bytes) { open_.bytes += bytes; }
  const Tally& of(Phase phase) const { return tallies_[static_cast<size_t>(phase)]; }
  Phase seen() const { return seen_.load(std::memory_order_acquire); }

 private:
  const Baton& baton_;
  std::array<Tally, kPhases> tallies_ = {};
  Tally open_ = {};
  double since_ = 0, cpu_since_ = 0;
  std::atomic<Phase> seen_{Phase::warm_up};
};

// One direction of one connection.
class Mover {
 public:
  Mover(int fd, const Spec& spec, uint64_t seed, const Baton& baton)
      : fd_(fd), spec_(spec), seed_(seed), baton_(baton), books_(baton) {}
  virtual ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  void start();
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  void join();
  // Once finished: why it ended early; empty if it did not.
  const std::string& failure() const { return failure_; }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // so far
  const Accountant& books() const { return books_; }

 protected:
  virtual void move() = 0;
  void count(ssize_t n) {
    bytes_.store(bytes_.load(std::memory_order_relaxed) + static_cast<uint64_t>(n),
                 std::memory_order_relaxed);
    books_.add(static_cast<uint64_t>(n));
  }
  bool aborted() const { return baton_.abort.load(std::memory_order_relaxed); }
  // True for what only means "again"; otherwise the reason is kept.
  bool transient(int error);

  int fd_;
  const Spec& spec_;
  uint64_t seed_;
  const Baton& baton_;
  Accountant books_;
  std::string failure_;

 private:
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> finished_{false};
  std::thread thread_;
};

class Sender final : public Mover {
 public:
  using Mover::Mover;
  ~Sender() override { join(); }
  // Whether in the phase try_zero_copy the kernel really left the copying out.
  bool zero_copied() const { return zero_copied_; }

 private:
  void move() override;
  bool zero_copy_in(Phase phase) const;
  std::atomic<bool> zero_copied_{false};
};

class Receiver final : public Mover {
 public:
  using Mover::Mover;
  ~Receiver() override { join(); }
  // Once finished: the position of the first wrong byte, if the payload is verified.
  std::optional<uint64_t> wrong_at() const { return wrong_at_; }

 private:
  void move() override;
  std::optional<uint64_t> wrong_at_;
};

}  // namespace cb::tcp
