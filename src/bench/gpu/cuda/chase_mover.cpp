// Latency: one thread follows a random cycle of lines, on its own device or on a peer.
#include <algorithm>

#include "bench/gpu/chase_cycle.h"
#include "bench/gpu/cuda/mover_base.h"
#include "kernels/stream.h"

namespace cb {
namespace {

constexpr uint64_t kChaseSteps = 20000;

class ChaseMover final : public TimedMover {
 public:
  // The lines lie on `home` and have several times the size of its second-level cache.
  ChaseMover(const GpuUnit& unit, const GpuUnit& home, uint64_t seed)
      : TimedMover(unit), cycle_(random_cycle(lines_for(home), seed)), place_(sizeof(uint64_t)) {
    constexpr size_t kLine = kernels::chase_line_bytes;
    std::vector<uint64_t> image(cycle_.size() * kLine / 8);
    for (size_t i = 0; i < cycle_.size(); ++i) image[i * kLine / 8] = cycle_[i];
    cuda::select(home.device.ordinal);
    {
      const cuda::Stream there;
      lines_.emplace(image.size() * 8);
      cuda::copy(lines_->data(), image.data(), lines_->bytes(), there);
      cuda::wait(there, kGpuHangSeconds, "filling");
    }
    cuda::select(ordinal_);
    cuda::zero(place_.data(), place_.bytes(), stream_);
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }

  uint64_t loads() const override { return kChaseSteps; }
  int64_t most() const override { return 1000; }
  void prepare() override {}

  // Every sample starts where the last one ended; the host follows the same steps.
  DataErrors verify() override {
    cuda::select(ordinal_);
    uint64_t found = 0;
    cuda::fetch(&found, place_.data(), sizeof found, stream_, kGpuHangSeconds,
                "checking the chase");
    at_ = follow(cycle_, at_, kChaseSteps * static_cast<uint64_t>(count_));
    if (found == at_) return {};
    return {1, found, where_ + ", line where the chase ended"};
  }

  // Moves to the neighbouring line. It exists: the number of lines is even.
  void spoil() override {
    cuda::select(ordinal_);
    flip_on_device(place_.data(), 1, stream_);
  }

 private:
  static uint64_t lines_for(const GpuUnit& home) {
    constexpr int64_t kMin = int64_t{64} << 20;
    const int64_t bytes = std::max(kMin, 4 * home.device.l2_bytes);
    return static_cast<uint64_t>(bytes) / kernels::chase_line_bytes;
  }
  void once(int64_t) override {
    cuda::check_launch(
        kernels::launch_chase(lines_->data(), kChaseSteps, static_cast<uint64_t*>(place_.data()),
                              stream_.handle()),
        "chase");
  }

  std::vector<uint64_t> cycle_;
  cuda::DeviceMemory place_;
  std::optional<cuda::DeviceMemory> lines_;
  uint64_t at_ = 0;
};

}  // namespace

std::unique_ptr<Mover> latency_mover(const GpuUnit& unit, const GpuUnit* peer, uint64_t seed) {
  return std::make_unique<ChaseMover>(unit, peer == nullptr ? unit : *peer, seed);
}

}  // namespace cb
