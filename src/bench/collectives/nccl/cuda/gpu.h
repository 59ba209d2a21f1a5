#pragma once

#include <optional>
#include <string>
#include <utility>

#include "bench/collectives/nccl/device.h"
#include "sys/gpu/cuda/cuda.h"
#include "sys/gpu/cuda/graph.h"

namespace cb::nccl {

// A GPU as a rank of a communicator, with a stream of its own.
class Gpu final : public Device {
 public:
  explicit Gpu(cuda::Device device);

  std::string name() const override;
  std::string identity() const override { return device_.uuid; }
  std::string pci_address() const override { return device_.pci_address; }
  std::string product() const override { return device_.name; }
  uint64_t memory_bytes() const override { return static_cast<uint64_t>(device_.memory_bytes); }
  uint64_t free_bytes() override;
  void select() override { cuda::select(device_.ordinal); }
  abi::Stream stream() override { return static_cast<abi::Stream>(stream_->handle()); }
  const cuda::Stream& queue() const { return *stream_; }
  // After so many seconds a buffer of this GPU that does not do what it is told hangs.
  void hang_after(double seconds) { hang_seconds_ = seconds; }
  std::unique_ptr<DeviceBuffer> buffer(uint64_t bytes, const Library* allocator) override;
  void mark() override {
    select();
    event_->record(*stream_);
  }
  const cuda::Event& marked() const { return *event_; }
  bool idle() override { return event_->reached(); }
  void begin_graph() override {
    select();
    cuda::Graph::begin(*stream_);
  }
  void end_graph() override {
    select();
    graph_.emplace().end(*stream_);
  }
  void launch_graph() override {
    select();
    graph_.value().launch(*stream_);
  }
  void drop_graph() override {
    select();
    graph_.reset();
  }

 private:
  cuda::Device device_;
  double hang_seconds_;
  std::optional<cuda::Stream> stream_;
  std::optional<cuda::Event> event_;
  std::optional<cuda::Graph> graph_;
};

}  // namespace cb::nccl
