// Kernels make and check data where they lie
// (kernels/collective_data.cu); only a wrong element comes to the host.
#include "bench/collectives/nccl/cuda/gpu.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/gpu/cuda/session.h"
#include "core/error.h"

namespace cb::nccl {
namespace {

class GpuBuffer final : public DeviceBuffer {
 public:
  GpuBuffer(int ordinal, uint64_t bytes, const Library* allocator, const cuda::Stream& stream,
            double hang_seconds)
      : ordinal_(ordinal),
        bytes_(bytes),
        allocator_(allocator),
        stream_(stream),
        hang_seconds_(hang_seconds) {
    if (allocator != nullptr) {
      allocator->check(allocator->call().mem_alloc(&base_, base_bytes()), "ncclMemAlloc");
    } else {
      own_.emplace(base_bytes());
      base_ = own_->data();
    }
    fill(base(), base_bytes(), kGuardValue);
  }
  ~GpuBuffer() override {
    if (allocator_ != nullptr) allocator_->call().mem_free(base_);
  }

  void* base() override { return base_; }
  std::byte* data() override { return static_cast<std::byte*>(base_) + kGuardBytes; }
  uint64_t bytes() const override { return bytes_; }

  bool guards_intact() override {
    cuda::select(ordinal_);
    const auto wrong = [&](std::byte* from) {
      return ask("verify_byte",
                 [&](kernels::VerifyResult* result) {
                   return kernels::launch_verify_byte(from, kGuardBytes, kGuardValue, result,
                                                      stream_.handle());
                 })
          .mismatches;
    };
    return wrong(data() - kGuardBytes) == 0 && wrong(data() + bytes_) == 0;
  }

  void set(Extent extent, uint8_t value) override {
    if (extent.bytes > 0) fill(data() + extent.at, extent.bytes, value);
  }

  void fill_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                    uint64_t first_byte) override {
    cuda::select(ordinal_);
    cuda::check_launch(
        kernels::launch_fill_words(data() + extent.at, extent.bytes, pattern_seed(rank, iteration),
                                   first_byte / 8, stream_.handle()),
        "fill_words");
    finish("fill_words");
  }

  void fill_terms(Extent extent, const Terms& terms, uint64_t rank) override {
    cuda::select(ordinal_);
    cuda::check_launch(
        kernels::launch_fill_terms(terms, rank, data() + extent.at,
                                   extent.bytes / element_bytes(terms.type), stream_.handle()),
        "fill_terms");
    finish("fill_terms");
  }

  std::optional<Mismatch> verify_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                                         uint64_t first_byte, uint64_t bytes_per_element) override {
    cuda::select(ordinal_);
    const auto result = ask("verify_words", [&](kernels::VerifyResult* out) {
      return kernels::launch_verify_words(
          data() + extent.at, extent.bytes, pattern_seed(rank, iteration), first_byte / 8,
          static_cast<int>(bytes_per_element), out, stream_.handle());
    });
    return explain(extent, result, bytes_per_element, [&](std::span<const std::byte> got) {
      // The host checks the same word again, to get the values.
      const uint64_t word = result.first_mismatch * bytes_per_element / 8 * 8;
      return cb::verify_pattern(got, rank, iteration, first_byte + word, bytes_per_element);
    });
  }

  std::optional<Mismatch> verify_reduced(Extent extent, const Terms& terms,
                                         uint64_t first_index) override {
    cuda::select(ordinal_);
    const uint64_t width = element_bytes(terms.type);
    const auto result = ask("verify_terms", [&](kernels::VerifyResult* out) {
      return kernels::launch_verify_terms(terms, first_index, data() + extent.at,
                                          extent.bytes / width, out, stream_.handle());
    });
    return explain(extent, result, width, [&](std::span<const std::byte> got) {
      const uint64_t first = result.first_mismatch * width / 8 * 8 / width;
      return cb::verify_reduced(terms, first_index + first, got);
    });
  }

  void flip(int64_t at) override {
    cuda::select(ordinal_);
    std::byte value{};
    cuda::copy(&value, data() + at, 1, stream_);
    finish("copy");
    value ^= std::byte{0x10};
    cuda::copy(data() + at, &value, 1, stream_);
    finish("copy");
  }

 private:
  void fill(void* at, uint64_t bytes, uint8_t value) {
    cuda::select(ordinal_);
    cuda::fill(at, value, bytes, stream_);
    finish("memset");
  }
  void finish(const char* what) { cuda::wait(stream_, hang_seconds_, what); }

  template <typename Launch>
  kernels::VerifyResult ask(const char* kernel, Launch launch) {
    auto* device = static_cast<kernels::VerifyResult*>(answer_.data());
    cuda::check_launch(launch(device), kernel);
    finish(kernel);  // a copy to ordinary memory would wait for ever where the kernel hangs
    kernels::VerifyResult out{};
    cuda::copy(&out, device, sizeof out, stream_);
    finish(kernel);
    return out;
  }

  // What the host's check says about the aligned word with the first wrong element.
  template <typename OnHost>
  std::optional<Mismatch> explain(Extent extent, const kernels::VerifyResult& result,
                                  uint64_t width, OnHost on_host) {
    if (result.mismatches == 0) return std::nullopt;
    const uint64_t at = result.first_mismatch * width / 8 * 8;
    std::byte word[8];
    const uint64_t bytes = std::min<uint64_t>(sizeof word, extent.bytes - at);
    cuda::copy(word, data() + extent.at + at, bytes, stream_);
    finish("copy");
    const auto here = on_host(std::span<const std::byte>(word, bytes));
    return Mismatch{result.mismatches, result.first_mismatch,
                    here ? here->text : "wrong on the GPU, right when it was read again"};
  }

  int ordinal_;
  uint64_t bytes_;
  const Library* allocator_;
  const cuda::Stream& stream_;
  double hang_seconds_;
  std::optional<cuda::DeviceMemory> own_;
  cuda::DeviceMemory answer_{sizeof(kernels::VerifyResult)};
  void* base_ = nullptr;
};

}  // namespace

Gpu::Gpu(cuda::Device device) : device_(std::move(device)), hang_seconds_(kGpuHangSeconds) {
  cuda::select(device_.ordinal);
  stream_.emplace();
  event_.emplace();
}

std::string Gpu::name() const {
  return fmt::format("GPU {}, {}, {}", device_.ordinal, device_.name, device_.pci_address);
}

uint64_t Gpu::free_bytes() {
  select();
  return static_cast<uint64_t>(cuda::memory_info().free_bytes);
}

std::unique_ptr<DeviceBuffer> Gpu::buffer(uint64_t bytes, const Library* allocator) {
  select();
  return std::make_unique<GpuBuffer>(device_.ordinal, bytes, allocator, *stream_, hang_seconds_);
}

std::variant<Devices, Said> gpu_devices(Context& context) {
  auto session = GpuSession::open(context);
  if (auto* reason = std::get_if<Said>(&session)) return *reason;
  Devices out;
  for (const GpuUnit& unit : std::get<GpuSession>(session).units())
    out.push_back(std::make_unique<Gpu>(unit.device));
  return out;
}

}  // namespace cb::nccl
