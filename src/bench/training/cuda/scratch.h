#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/training/cuda/device_queue.h"

namespace cb::training {

// Memory of the device that outlives nothing: given back when the device is idle, else left behind.
template <typename T>
class Scratch {
 public:
  explicit Scratch(DeviceQueue& queue) : queue_(queue) {}
  ~Scratch() {
    while (!recorded_.empty()) {
      drop();
      memory_ = std::move(recorded_.back());
      recorded_.pop_back();
    }
    drop();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Room for so many elements, until the next call.
  T* of(int64_t count) {
    if (count > count_) {
      queue_.wait();
      if (queue_.has_recorded() && memory_)
        recorded_.push_back(std::move(memory_));
      else
        drop();
      memory_ = std::make_unique<cuda::DeviceMemory>(static_cast<size_t>(count) * sizeof(T));
      queue_.took(static_cast<int64_t>(memory_->bytes()));
      count_ = count;
    }
    return static_cast<T*>(memory_->data());
  }

 private:
  void drop() {
    if (memory_) queue_.took(-static_cast<int64_t>(memory_->bytes()));
    if (memory_ && !queue_.idle()) static_cast<void>(memory_.release());
    memory_.reset();
  }
  DeviceQueue& queue_;
  std::unique_ptr<cuda::DeviceMemory> memory_;
  std::vector<std::unique_ptr<cuda::DeviceMemory>> recorded_;  // what was recorded may read it
  int64_t count_ = 0;
};

}  // namespace cb::training
