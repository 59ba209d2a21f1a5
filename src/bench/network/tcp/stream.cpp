#include "bench/network/tcp/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/network/tcp/payload.h"

namespace cb::tcp {
namespace {

constexpr int kReceiveBytes = 131072;

// Lets a receiving thread sleep until half of its buffer can be filled (recv() and poll() respect
// this). If every segment woke it, it would spend its own time, or that of the sending thread
// beside it, on wake-ups. The rest at the end arrives with the sender's FIN.
void wake_for_much(int fd) {
  const int least = kReceiveBytes / 2;
  setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);  // may fail: only an aid
}

int flags(bool sleeps) { return sleeps ? 0 : MSG_DONTWAIT; }

}  // namespace

size_t scratch_bytes(const Spec& spec) { return std::max<size_t>(kReceiveBytes, spec.bytes); }

size_t StreamEnd::step(Phase phase, bool sleeps, std::span<std::byte> memory) noexcept {
  try {
    const ssize_t n = move(phase, sleeps, memory);
    if (n > 0) {
      const auto moved = static_cast<size_t>(n);
      bytes_.store(bytes() + moved, std::memory_order_relaxed);
      return moved;
    }
    if (n == 0 || errno == EAGAIN || errno == EINTR) return 0;
    failure_ = std::strerror(errno);
  } catch (const std::exception& e) {
    failure_ = said_by(e);
  }
  end();
  return 0;
}

short Sender::readiness() const { return POLLOUT; }

bool Sender::zero_copy_in(Phase phase) const {
  return phase == Phase::try_zero_copy ||
         (phase == Phase::measured && control_.zero_copy.load(std::memory_order_relaxed));
}

ssize_t Sender::send_some(std::span<const std::byte> rest, Phase phase, bool sleeps) {
  if (!zero_copy_in(phase)) {
    const ssize_t n = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | flags(sleeps));
    // Drains the error queue, else poll() never sleeps.
    if (n < 0 && errno == EAGAIN && zero_) {
      zero_->reap();
      errno = EAGAIN;
    }
    return n;
  }
  if (!zero_) zero_.emplace(fd_);
  const ssize_t n = zero_->send(rest, flags(sleeps));
  zero_copied_ = zero_->possible() && zero_->finished() > 0 && zero_->copied() == 0;
  return n;
}

ssize_t Sender::move(Phase phase, bool sleeps, std::span<std::byte> memory) {
  // A stream carries at least something, however late its thread starts.
  if (phase == Phase::over && bytes() > 0) {
    shutdown(fd_, SHUT_WR);
    end();
    return 0;
  }
  if (spec_.verify && message_.empty()) {
    message_.resize(spec_.bytes);
    fill_stream(message_, 0, seed_);
  }
  const std::span<const std::byte> message = spec_.verify ? message_ : memory.first(spec_.bytes);
  const ssize_t n = send_some(message.subspan(at_), phase, sleeps);
  if (n <= 0) return n;
  at_ += static_cast<size_t>(n);
  if (at_ < message.size()) return n;
  at_ = 0;
  if (spec_.verify) fill_stream(message_, bytes() + static_cast<uint64_t>(n), seed_);
  return n;
}

short Receiver::readiness() const { return POLLIN; }

ssize_t Receiver::move(Phase, bool sleeps, std::span<std::byte> memory) {
  // Several one-way streams are exempt: their thread has its CPU to itself and would sleep while
  // there is data.
  if (!std::exchange(started_, true) && (sleeps || spec_.two_way)) wake_for_much(fd_);
  const ssize_t n = recv(fd_, memory.data(), kReceiveBytes, flags(sleeps));
  if (n == 0) end();  // the sender ended in good order
  if (n <= 0) return n;
  const std::span got(memory.data(), static_cast<size_t>(n));
  if (std::exchange(corrupt_, false)) got[got.size() / 2] ^= std::byte{1};
  if (spec_.verify && !wrong_at_) wrong_at_ = first_wrong(got, bytes(), seed_);
  return n;
}

}  // namespace cb::tcp
