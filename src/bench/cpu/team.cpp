#include "bench/cpu/team.h"

#include <algorithm>
#include <utility>

namespace cb {

Team::Team(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  // If the kernel refuses a binding, placement suffers, but not correctness.
  bind_thread({cpus_.at(0)});
  for (int i = 1; i < size(); ++i) threads_.emplace_back([this, i] { worker(i); });
}

Team::~Team() {
  work_ = nullptr;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Team::attempt(int index) {
  try {
    (*work_)(index);
  } catch (...) {
    const std::scoped_lock lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void Team::worker(int index) {
  bind_thread({cpus_[static_cast<size_t>(index)]});
  for (uint32_t seen = 0;; ++seen) {
    generation_.wait(seen, std::memory_order_acquire);
    if (work_ == nullptr) return;
    attempt(index);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  attempt(0);
  for (uint32_t left = running_.load(std::memory_order_acquire); left != 0;
       left = running_.load(std::memory_order_acquire))
    running_.wait(left, std::memory_order_acquire);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

Range share_of_items(size_t total, int threads, int index, size_t grain) {
  const size_t blocks = (total + grain - 1) / grain;
  const auto t = static_cast<size_t>(threads), i = static_cast<size_t>(index);
  return {std::min(total, blocks * i / t * grain), std::min(total, blocks * (i + 1) / t * grain)};
}

}  // namespace cb
