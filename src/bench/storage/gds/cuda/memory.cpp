#include "bench/storage/gds/memory.h"

#include <fmt/format.h>

#include "core/error.h"
#include "sys/gpu/cuda/cuda.h"

namespace cb::gds {
namespace {

constexpr double kDeadlineSeconds = 60;

class GpuIoMemory : public IoMemory {
 public:
  explicit GpuIoMemory(size_t bytes) : memory_(bytes) {}
  void* data() override { return memory_.data(); }
  void* stream() override { return stream_.handle(); }
  void put(size_t at, std::span<const std::byte> bytes) override {
    cuda::copy(memory_.at(at), bytes.data(), bytes.size(), stream_);
    // cuFile does not wait for the GPU's streams.
    cuda::wait(stream_, kDeadlineSeconds, "copy to the GPU");
  }
  void get(size_t at, std::span<std::byte> bytes) override {
    cuda::copy(bytes.data(), memory_.at(at), bytes.size(), stream_);
    cuda::wait(stream_, kDeadlineSeconds, "copy from the GPU");
  }

 private:
  cuda::DeviceMemory memory_;
  cuda::Stream stream_;
};

}  // namespace

std::unique_ptr<IoMemory> gpu_memory(int ordinal, size_t bytes) {
  const auto found = cuda::devices();
  if (const auto* absent = std::get_if<cuda::Absent>(&found))
    throw Error(said("gds.no_gpu", absent->reason));
  const auto& devices = std::get<std::vector<cuda::Device>>(found);
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size())
    throw Error(fmt::format("there is no GPU {}, only {}", ordinal, devices.size()));
  cuda::select(ordinal);
  return std::make_unique<GpuIoMemory>(bytes);
}

}  // namespace cb::gds
