#include "sys/storage/block_writes.h"

#include <cerrno>
#include <deque>
#include <future>
#include <utility>

#include <unistd.h>

#include "core/error.h"
#include "sys/storage/uring.h"

namespace cb {
namespace {

class RingWrites : public BlockWrites {
 public:
  RingWrites(int fd, unsigned most, std::span<std::byte> buffers, const FsRoot& fs)
      : fd_(fd), ring_(most, fs) {
    ring_.register_buffer(buffers);
    ring_.register_file(fd);
  }
  ~RingWrites() override {
    try {
      while (running_ > 0) wait();
    } catch (const Error&) {
      // Without a ring nothing can come back.
    }
  }

  void begin(size_t tag, std::span<std::byte> data, uint64_t offset) override {
    ring_.queue(true, fd_, data, offset, tag);
    ++running_;
    ring_.submit_and_wait(0);
  }

  Ended next() override {
    while (ended_.empty()) wait();
    const Ended out = ended_.front();
    ended_.pop_front();
    return out;
  }

  Said how() const override { return said("io.engine", "io_uring", ring_.how()); }

 private:
  void wait() {
    ring_.submit_and_wait(1);
    running_ -= ring_.reap([&](uint64_t tag, int result) { ended_.push_back({tag, result}); });
  }

  int fd_;
  Uring ring_;
  size_t running_ = 0;
  std::deque<Ended> ended_;
};

class ThreadWrites : public BlockWrites {
 public:
  explicit ThreadWrites(int fd) : fd_(fd) {}

  // Where no further thread can be made the write waits for its next().
  void begin(size_t tag, std::span<std::byte> data, uint64_t offset) override {
    const auto write = [fd = fd_, data, offset]() -> int64_t {
      const ssize_t n = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
      return n < 0 ? -errno : n;
    };
    running_.emplace_back(tag, std::async(std::launch::async | std::launch::deferred, write));
  }

  Ended next() override {
    auto [tag, result] = std::move(running_.front());
    running_.pop_front();
    return {tag, result.get()};
  }

  Said how() const override { return said("io.engine", "threads", said("io.pread")); }

 private:
  int fd_;
  std::deque<std::pair<size_t, std::future<int64_t>>> running_;
};

}  // namespace

std::unique_ptr<BlockWrites> ring_writes(int fd, unsigned most, std::span<std::byte> buffers,
                                         const FsRoot& fs) {
  return std::make_unique<RingWrites>(fd, most, buffers, fs);
}

std::unique_ptr<BlockWrites> thread_writes(int fd) { return std::make_unique<ThreadWrites>(fd); }

}  // namespace cb
