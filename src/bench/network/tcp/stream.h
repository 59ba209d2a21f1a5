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

// The streams of a bandwidth measurement, one call of send() or recv() at a time. carrier.h has the
// threads that make the calls.
namespace cb::tcp {

enum class Phase : int { warm_up, try_copy, try_zero_copy, settle, measured, over };
constexpr size_t kPhases = 6;

// What the main thread of a transfer tells the threads that move its streams.
struct TransferControl {
  std::atomic<Phase> phase{Phase::warm_up};
  std::atomic<bool> zero_copy{false};  // way of sending in phase measured
  std::atomic<bool> abort{false};      // true: end at once, whatever is missing
};

// Bytes of the memory that a thread lends to its streams.
size_t scratch_bytes(const Spec& spec);

// One direction of one connection. One thread moves it; the main thread of the transfer reads its
// state.
class StreamEnd {
 public:
  StreamEnd(int fd, const Spec& spec, uint64_t seed, const TransferControl& control)
      : fd_(fd), spec_(spec), seed_(seed), control_(control) {}
  virtual ~StreamEnd() = default;
  StreamEnd(const StreamEnd&) = delete;
  StreamEnd& operator=(const StreamEnd&) = delete;

  // Makes one call and returns the bytes moved; 0 if the socket was not ready or the stream has
  // ended. `sleeps`: waits for a socket that is not ready, kSocketSliceMs at most. `memory` is the
  // thread's buffer of scratch_bytes() or more for data that nobody checks; the thread's streams
  // share it, so that it stays in the caches. Never throws.
  size_t step(Phase phase, bool sleeps, std::span<std::byte> memory) noexcept;
  // The event that poll() has to wait for.
  virtual short readiness() const = 0;
  int fd() const { return fd_; }

  // Called after the last step.
  void finish() { finished_.store(true, std::memory_order_release); }
  bool ended() const { return ended_; }  // for the moving thread: true if nothing is left to do
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  // Valid once finished: why the stream ended early; empty if it did not.
  const Said& failure() const { return failure_; }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // bytes moved so far

 protected:
  // Works like step(), but returns -1 and sets errno if it moved nothing.
  virtual ssize_t move(Phase phase, bool sleeps, std::span<std::byte> memory) = 0;
  void end() { ended_ = true; }

  int fd_;
  const Spec& spec_;
  uint64_t seed_;
  const TransferControl& control_;

 private:
  Said failure_;
  bool ended_ = false;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> finished_{false};
};

class Sender final : public StreamEnd {
 public:
  using StreamEnd::StreamEnd;
  short readiness() const override;
  // True if the kernel really avoided copying in the phase try_zero_copy.
  bool zero_copied() const { return zero_copied_; }

 private:
  ssize_t move(Phase phase, bool sleeps, std::span<std::byte> memory) override;
  ssize_t send_some(std::span<const std::byte> rest, Phase phase, bool sleeps);
  bool zero_copy_in(Phase phase) const;

  std::vector<std::byte> message_;  // used if the stream is verified
  size_t at_ = 0;                   // bytes of the current message that were sent
  std::optional<ZeroCopySender> zero_;
  std::atomic<bool> zero_copied_{false};
};

class Receiver final : public StreamEnd {
 public:
  using StreamEnd::StreamEnd;
  short readiness() const override;
  // Valid once finished: position of the first wrong byte, if the payload is verified.
  std::optional<uint64_t> wrong_at() const { return wrong_at_; }

 private:
  ssize_t move(Phase phase, bool sleeps, std::span<std::byte> memory) override;

  bool started_ = false;
  bool corrupt_ = spec_.corrupt;
  std::optional<uint64_t> wrong_at_;
};

}  // namespace cb::tcp
