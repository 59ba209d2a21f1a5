#include "bench/network/verbs/memory.h"

#include <fmt/format.h>

#include "sys/gpu/cuda/cuda.h"
#include "sys/gpu/cuda/dma_buf.h"

namespace cb::verbs {
namespace {

constexpr double kDeadlineSeconds = 60;
// CUDA aligns allocations of this size to a page, which a dma-buf needs.
constexpr size_t kPiece = size_t{2} << 20;

size_t whole_pieces(size_t bytes) { return (bytes + kPiece - 1) / kPiece * kPiece; }

// A pair has two ends: CUDA's words alone do not say which of them they are of.
cuda::DeviceMemory allocate(int ordinal, size_t bytes, const std::string& device) try {
  cuda::select(ordinal);
  return cuda::DeviceMemory(whole_pieces(bytes));
} catch (const Error& e) {
  throw Error(fmt::format("{}: {}", device, e.what()));
}

class GpuTransferMemory : public TransferMemory {
 public:
  GpuTransferMemory(int ordinal, size_t bytes, const Registration& with)
      : ordinal_(ordinal), memory_(allocate(ordinal, bytes, with.device)), copy_(memory_.bytes()) {
    cuda::make_copies_synchronous(memory_.data());
    push();
    register_with(with);
  }
  // The choice is per thread, and the end of a round is destroyed on a thread of its own.
  ~GpuTransferMemory() override {
    try {
      cuda::select(ordinal_);
    } catch (const Error&) {
      // Then the GPU is lost, and there is nothing to give back.
    }
  }
  uintptr_t address() const override { return reinterpret_cast<uintptr_t>(memory_.data()); }
  const ibv_mr& region() const override { return *region_; }
  std::byte* host() const override { return copy_.data(); }
  // Selects the device first: any thread may drive the transfer, and the choice is per thread.
  void push() override {
    cuda::select(ordinal_);
    cuda::copy(memory_.data(), copy_.data(), copy_.size(), stream_);
    cuda::wait(stream_, kDeadlineSeconds, "copy to the GPU");
  }
  void pull() override {
    cuda::select(ordinal_);
    cuda::copy(copy_.data(), memory_.data(), copy_.size(), stream_);
    cuda::wait(stream_, kDeadlineSeconds, "copy from the GPU");
  }
  std::string how() const override { return how_; }

 private:
  void register_with(const Registration& with) {
    std::string why;
    try {
      const cuda::DmaBuf exported(memory_.data(), memory_.bytes());
      region_ = register_dma_buf(with.pd, exported.descriptor(), memory_.data(), memory_.bytes(),
                                 with.relaxed_ordering, with.device);
      how_ = fmt::format("GPU {} by dma-buf", ordinal_);
      return;
    } catch (const Error& e) {
      why = e.what();
    }
    try {
      region_ = register_memory(with.pd, memory_.data(), memory_.bytes(), with.relaxed_ordering,
                                with.device);
    } catch (const Error& e) {
      throw Error(
          fmt::format("{} cannot reach the memory of GPU {}: by dma-buf: {}; by its address: {}; "
                      "next: modprobe nvidia-peermem, or use NVIDIA's open kernel modules",
                      with.device, ordinal_, why, e.what()));
    }
    how_ = fmt::format("GPU {} by nvidia-peermem (no dma-buf: {})", ordinal_, why);
  }

  int ordinal_;
  cuda::DeviceMemory memory_;
  cuda::Stream stream_;
  mutable std::vector<std::byte> copy_;
  MrPtr region_;
  std::string how_;
};

}  // namespace

std::unique_ptr<TransferMemory> gpu_memory(int ordinal, size_t bytes, const Registration& with) {
  return std::make_unique<GpuTransferMemory>(ordinal, bytes, with);
}

Gpus visible_gpus() {
  const auto found = cuda::devices();
  if (const auto* absent = std::get_if<cuda::Absent>(&found))
    return {{}, said("verbs.no_usable_gpu", absent->reason)};
  Gpus out;
  for (const cuda::Device& d : std::get<std::vector<cuda::Device>>(found))
    out.pci_addresses.push_back(d.pci_address);
  if (out.pci_addresses.empty()) out.absent = said("verbs.no_device_seen");
  return out;
}

}  // namespace cb::verbs
