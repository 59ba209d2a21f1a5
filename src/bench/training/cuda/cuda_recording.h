#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "bench/training/backend.h"
#include "bench/training/cuda/device_queue.h"
#include "sys/gpu/cuda/graph.h"

namespace cb::training {

// Left behind with a device that is lost: giving it back may wait for ever.
class CudaRecording final : public Recording {
 public:
  CudaRecording(std::shared_ptr<DeviceQueue> queue, const std::function<void()>& work)
      : queue_(std::move(queue)), graph_(std::make_unique<cuda::Graph>()) {
    queue_->record(*graph_, work);
  }
  ~CudaRecording() override {
    if (!queue_->idle()) static_cast<void>(graph_.release());
  }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  void run() override { queue_->launch(*graph_); }

 private:
  std::shared_ptr<DeviceQueue> queue_;
  std::unique_ptr<cuda::Graph> graph_;
};

}  // namespace cb::training
