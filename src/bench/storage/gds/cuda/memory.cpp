#include "bench/storage/gds/memory.h"

#include <fmt/format.h>

#include "core/error.h"
#include "sys/gpu/cuda/cuda.h"

namespace cb::gds {
namespace {

constexpr double kDeadlineSeconds = 60;

class GpuIoMemory : public IoMemory {
 public:
  GpuIoMemory(int ordinal, size_t bytes)
      : ordinal_(ordinal), memory_(bytes), staging_(bytes, true) {}
  std::string name() const override { return fmt::format("GPU {}", ordinal_); }
  void* data() override { return memory_.data(); }
  void* stream() override { return stream_.handle(); }
  std::span<std::byte> staging() override {
    return {static_cast<std::byte*>(staging_.data()), staging_.bytes()};
  }
  void put(size_t at, size_t bytes) override {
    cuda::copy(memory_.at(at), &staging()[at], bytes, stream_);
  }
  void get(size_t at, size_t bytes) override {
    cuda::copy(&staging()[at], memory_.at(at), bytes, stream_);
  }
  // cuFile needs this too: it does not wait for the GPU's streams.
  void settle() override { cuda::wait(stream_, kDeadlineSeconds, "copies of the GPU"); }

 private:
  int ordinal_;
  cuda::DeviceMemory memory_;
  cuda::HostMemory staging_;
  cuda::Stream stream_;
};

}  // namespace

std::unique_ptr<IoMemory> gpu_memory(std::optional<int> asked, int local_rank, size_t bytes) {
  const auto found = cuda::devices();
  if (const auto* absent = std::get_if<cuda::Absent>(&found))
    throw Error(said("gds.no_gpu", absent->reason));
  const auto& devices = std::get<std::vector<cuda::Device>>(found);
  const int ordinal = asked.value_or(local_rank % static_cast<int>(devices.size()));
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size())
    throw Error(fmt::format("there is no GPU {}, only {}", ordinal, devices.size()));
  cuda::select(ordinal);
  return std::make_unique<GpuIoMemory>(ordinal, bytes);
}

}  // namespace cb::gds
