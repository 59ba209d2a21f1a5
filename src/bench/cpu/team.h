#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "sys/cpu/numa.h"

namespace cb {

// Threads bound to one CPU each; the caller is the first of them. The caller stays bound while the
// team exists and gets its old mask back afterwards. Workers sleep between calls.
class Team {
 public:
  explicit Team(std::vector<int> cpus);  // `cpus` must not be empty
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(cpus_.size()); }
  const std::vector<int>& cpus() const { return cpus_; }

  // Runs work(index) on every thread and returns when all have ended. Rethrows the first failure.
  void run(const std::function<void(int)>& work);

 private:
  void worker(int index);
  void attempt(int index);

  std::vector<int> cpus_;
  KeepAffinity keep_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;  // null tells the workers to end
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> running_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

// The half-open range of `total` items that thread `index` of `threads` takes. Ranges start at
// multiples of `grain` and together cover every item once.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};
Range share_of_items(size_t total, int threads, int index, size_t grain = 1);

}  // namespace cb
