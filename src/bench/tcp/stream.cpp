#include "bench/tcp/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/resource.h>
#include <sys/socket.h>

#include "bench/tcp/payload.h"
#include "core/clock.h"

namespace cb::tcp {
namespace {

constexpr int kReceiveBytes = 131072;

// Lets the receiver sleep until half its buffer can be filled: woken for every segment, a thread
// per stream spends its time on being woken. What is left at the end comes with the sender's FIN.
void wake_for_much(int fd) {
  const int least = kReceiveBytes / 2;
  setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);  // an aid only
}

double thread_cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void Tally::add(const Tally& other) {
  bytes += other.bytes;
  seconds += other.seconds;
  cpu_seconds += other.cpu_seconds;
}

void Accountant::begin() {
  since_ = monotonic_seconds();
  cpu_since_ = thread_cpu_seconds();
}

Phase Accountant::look() {
  const Phase now = baton_.phase.load(std::memory_order_relaxed);
  if (now != seen_.load(std::memory_order_relaxed)) {
    close();
    seen_.store(now, std::memory_order_release);
  }
  return now;
}

void Accountant::close() {
  const double now = monotonic_seconds(), cpu = thread_cpu_seconds();
  open_.seconds = now - since_;
  open_.cpu_seconds = cpu - cpu_since_;
  tallies_[static_cast<size_t>(seen_.load(std::memory_order_relaxed))].add(open_);
  open_ = {};
  since_ = now;
  cpu_since_ = cpu;
}

Mover::~Mover() { join(); }

void Mover::start() {
  thread_ = std::thread([this] {
    try {
      books_.begin();
      move();
      books_.close();
    } catch (const std::exception& e) {
      failure_ = e.what();
    }
    finished_.store(true, std::memory_order_release);
  });
}

void Mover::join() {
  if (thread_.joinable()) thread_.join();
}

bool Mover::transient(int error) {
  if (error == EAGAIN || error == EINTR) return true;
  failure_ = std::strerror(error);
  return false;
}

bool Sender::zero_copy_in(Phase phase) const {
  return phase == Phase::try_zero_copy ||
         (phase == Phase::measured && baton_.zero_copy.load(std::memory_order_relaxed));
}

void Sender::move() {
  std::vector<std::byte> message(spec_.bytes);
  fill_stream(message, 0, seed_);
  std::optional<ZeroCopySender> zero;
  size_t at = 0;  // sent of the current message
  // However late this thread comes, it sends something.
  const auto goes_on = [&](Phase phase) { return phase != Phase::over || bytes() == 0; };
  for (Phase phase = books_.look(); goes_on(phase) && !aborted(); phase = books_.look()) {
    const std::span rest(message.data() + at, message.size() - at);
    ssize_t n = 0;
    if (zero_copy_in(phase)) {
      if (!zero) zero.emplace(fd_);
      n = zero->send(rest);
      zero_copied_ = zero->possible() && zero->finished() > 0 && zero->copied() == 0;
    } else {
      n = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    }
    if (n < 0) {
      if (!transient(errno)) return;
      continue;
    }
    count(n);
    at += static_cast<size_t>(n);
    if (at < message.size()) continue;
    at = 0;
    if (spec_.verify) fill_stream(message, bytes(), seed_);
  }
  if (!aborted()) shutdown(fd_, SHUT_WR);
}

void Receiver::move() {
  std::vector<std::byte> buffer(kReceiveBytes);
  wake_for_much(fd_);
  bool corrupt = spec_.corrupt;
  while (!aborted()) {
    books_.look();
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
    if (n == 0) return;  // the sender's orderly end
    if (n < 0) {
      if (!transient(errno)) return;
      continue;
    }
    const std::span got(buffer.data(), static_cast<size_t>(n));
    if (std::exchange(corrupt, false)) got[got.size() / 2] ^= std::byte{1};
    if (spec_.verify && !wrong_at_) wrong_at_ = first_wrong(got, bytes(), seed_);
    count(n);
  }
}

}  // namespace cb::tcp
