#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/network/tcp/connection.h"
#include "bench/network/tcp/spec.h"
#include "bench/network/tcp/zero_copy.h"

// The streams of a bandwidth measurement, one call of send() or recv() at a time. Threads that make
// the calls: carrier.h.
namespace cb::tcp {

enum class Phase : int { warm_up, try_copy, try_zero_copy, settle, measured, over };
constexpr size_t kPhases = 6;

// What the conductor of a transfer tells its threads.
struct Baton {
  std::atomic<Phase> phase{Phase::warm_up};
  std::atomic<bool> zero_copy{false};  // in phase measured
  std::atomic<bool> abort{false};      // end at once, whatever is missing
};

// Of the memory that a thread lends its streams.
size_t scratch_bytes(const Spec& spec);

// One direction of one connection. One thread moves it; the conductor looks on.
class Mover {
 public:
  Mover(int fd, const Spec& spec, uint64_t seed, const Baton& baton)
      : fd_(fd), spec_(spec), seed_(seed), baton_(baton) {}
  virtual ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // One call's worth: the bytes moved, 0 if the socket was not ready or the stream has ended.
  // `sleeps`: waits for a socket that is not ready, kSocketSliceMs at most. `memory`: of the
  // thread, for what nobody looks at, at least scratch_bytes(); its streams share it, so that it
  // stays in the caches. Never throws.
  size_t step(Phase phase, bool sleeps, std::span<std::byte> memory) noexcept;
  // What poll() is to wait for.
  virtual short readiness() const = 0;
  int fd() const { return fd_; }

  // No further step will be made.
  void finish() { finished_.store(true, std::memory_order_release); }
  bool ended() const { return ended_; }  // for the moving thread: nothing is left to do
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  // Once finished: why it ended early; empty if it did not.
  const Said& failure() const { return failure_; }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // so far

 protected:
  // As step(), but -1 with errno when nothing was moved.
  virtual ssize_t move(Phase phase, bool sleeps, std::span<std::byte> memory) = 0;
  void end() { ended_ = true; }

  int fd_;
  const Spec& spec_;
  uint64_t seed_;
  const Baton& baton_;

 private:
  Said failure_;
  bool ended_ = false;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> finished_{false};
};

class Sender final : public Mover {
 public:
  using Mover::Mover;
  short readiness() const override;
  // Whether in the phase try_zero_copy the kernel really left the copying out.
  bool zero_copied() const { return zero_copied_; }

 private:
  ssize_t move(Phase phase, bool sleeps, std::span<std::byte> memory) override;
  ssize_t send_some(std::span<const std::byte> rest, Phase phase, bool sleeps);
  bool zero_copy_in(Phase phase) const;

  std::vector<std::byte> message_;  // of a stream that is verified
  size_t at_ = 0;                   // sent of the current message
  std::optional<ZeroCopySender> zero_;
  std::atomic<bool> zero_copied_{false};
};

class Receiver final : public Mover {
 public:
  using Mover::Mover;
  short readiness() const override;
  // Once finished: the position of the first wrong byte, if the payload is verified.
  std::optional<uint64_t> wrong_at() const { return wrong_at_; }

 private:
  ssize_t move(Phase phase, bool sleeps, std::span<std::byte> memory) override;

  bool started_ = false;
  bool corrupt_ = spec_.corrupt;
  std::optional<uint64_t> wrong_at_;
};

}  // namespace cb::tcp
