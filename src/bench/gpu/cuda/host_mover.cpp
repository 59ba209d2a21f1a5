// Copies between host and device. The device poisons and verifies its own targets and pinned ones
// on the host, which it reaches. This thread does so for pageable ones.
#include <algorithm>
#include <cstring>

#include "bench/gpu/cuda/mover_base.h"
#include "kernels/pattern.h"

namespace cb {
namespace {

using kernels::pattern_byte;
using kernels::pattern_word;

constexpr int64_t kHostTargets = 4;  // 1 GiB at the usual 256 MiB

void fill_host(void* to, size_t bytes, uint64_t seed) {
  auto* words = static_cast<uint64_t*>(to);
  for (size_t i = 0; i < bytes / 8; ++i) words[i] = pattern_word(i, seed);
}

DataErrors verify_host(const void* from, size_t bytes, uint64_t seed) {
  DataErrors out{.where = "host memory"};
  const auto* words = static_cast<const uint64_t*>(from);
  const auto* single = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < bytes / 8; ++i) {
    if (words[i] == pattern_word(i, seed)) continue;
    for (size_t b = 8 * i; b < 8 * i + 8; ++b) {
      if (single[b] == pattern_byte(b, seed)) continue;
      if (out.wrong++ == 0) out.first = b;
    }
  }
  return out;
}

// One host buffer that is copied to targets on the device.
struct Up {
  Up(size_t bytes, bool pinned, uint64_t seed) : from(bytes, pinned), to(bytes, kHostTargets) {
    fill_host(from.data(), bytes, seed);
  }
  cuda::HostMemory from;
  TargetBuffers to;
};

// One buffer on the device that is copied to targets on the host.
struct Down {
  Down(size_t bytes, bool pinned) : from(bytes) {
    for (int64_t i = 0; i < (pinned ? kHostTargets : 1); ++i) {
      to.emplace_back(bytes, pinned);
      std::memset(to.back().data(), 0, bytes);  // makes the pages exist, on this NUMA node
    }
  }
  cuda::DeviceMemory from;
  std::vector<cuda::HostMemory> to;
};

class HostMover final : public TimedMover {
 public:
  HostMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : TimedMover(unit), pinned_(point.params.text("memory") == "pinned"), seed_(seed) {
    const auto bytes = static_cast<size_t>(point.bytes) / 16 * 16;
    if (point.op.name != "device_to_host") up_.emplace(bytes, pinned_, seed_);
    if (point.op.name != "host_to_device") {
      down_.emplace(bytes, pinned_);
      fill_device(down_->from.data(), bytes, seed_ + 1, stream_);
    }
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }

  int64_t most() const override {
    int64_t out = kHostTargets;
    if (up_) out = std::min(out, up_->to.count());
    if (down_) out = std::min(out, static_cast<int64_t>(down_->to.size()));
    return out;
  }

  void prepare() override {
    cuda::select(ordinal_);
    if (up_) up_->to.poison(stream_);
    for (int64_t i = 0; down_ && i < most(); ++i) poison_host(target(i));
    cuda::wait(stream_, kGpuHangSeconds, "poisoning");
  }

  DataErrors verify() override {
    cuda::select(ordinal_);
    DataErrors out;
    if (up_) out.add(verify_targets(up_->to, count_, seed_, stream_, where_));
    for (int64_t i = 0; down_ && i < count_; ++i) {
      const cuda::HostMemory& memory = target(i);
      out.add(pinned_ ? verify_device(memory.data(), memory.bytes(), seed_ + 1, verdict_, stream_,
                                      "host memory, as " + where_ + " sees it")
                      : verify_host(memory.data(), memory.bytes(), seed_ + 1));
    }
    return out;
  }

  void spoil() override {
    if (up_) return flip(up_->to.at(0) + up_->to.bytes() / 2);
    static_cast<std::byte*>(target(0).data())[target(0).bytes() / 2] ^= std::byte{0x40};
  }

  // Verifies a target as the CPU sees it.
  DataErrors last_look() override {
    if (!down_) return {};
    return verify_host(target(0).data(), target(0).bytes(), seed_ + 1);
  }

 private:
  const cuda::HostMemory& target(int64_t i) const { return down_->to[static_cast<size_t>(i)]; }

  void poison_host(const cuda::HostMemory& memory) {
    if (pinned_)
      fill_device(memory.data(), memory.bytes(), ~seed_, stream_);
    else
      std::memset(memory.data(), 0xff, memory.bytes());
  }

  void once(int64_t i) override {
    const bool both = up_ && down_;
    if (both) ways_.fork(stream_);
    if (up_) cuda::copy(up_->to.at(i), up_->from.data(), up_->from.bytes(), stream_);
    if (down_)
      cuda::copy(target(i).data(), down_->from.data(), target(i).bytes(),
                 both ? ways_.other() : stream_);
    if (both) ways_.join(stream_);
  }

  bool pinned_;
  uint64_t seed_;
  std::optional<Up> up_;
  std::optional<Down> down_;
  ForkJoin ways_;
};

}  // namespace

std::unique_ptr<Mover> host_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed) {
  return std::make_unique<HostMover>(unit, point, seed);
}

}  // namespace cb
