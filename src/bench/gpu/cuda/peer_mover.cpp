// Copies between two GPUs, by the copy engines or by a kernel. Each side poisons and verifies its
// own targets.
#include <algorithm>

#include "bench/gpu/cuda/mover_base.h"
#include "kernels/stream.h"

namespace cb {
namespace {

constexpr int64_t kPeerTargets = 4;

// One direction: source and targets, each on its own GPU.
struct Way {
  Way(int from_ordinal, int to_ordinal, size_t bytes, uint64_t seed) {
    cuda::select(from_ordinal);
    const cuda::Stream stream;
    from.emplace(bytes);
    fill_device(from->data(), bytes, seed, stream);
    cuda::wait(stream, kGpuHangSeconds, "filling");
    cuda::select(to_ordinal);
    to.emplace(bytes, kPeerTargets);
  }
  std::optional<cuda::DeviceMemory> from;
  std::optional<TargetBuffers> to;
};

// `unit` starts the copies. In a two-way copy it writes and reads at once.
class PeerMover final : public TimedMover {
 public:
  PeerMover(const GpuUnit& unit, const GpuUnit& peer, const CopyPoint& point, uint64_t seed)
      : TimedMover(unit),
        by_sms_(point.params.text("engine") == "sm"),
        peer_ordinal_(peer.device.ordinal),
        peer_where_("GPU " + peer.entity.id),
        seed_(seed) {
    const auto bytes = static_cast<size_t>(point.bytes) / 16 * 16;
    if (point.op.name != "peer_read") write_.emplace(ordinal_, peer_ordinal_, bytes, seed_);
    if (point.op.name != "peer_write") read_.emplace(peer_ordinal_, ordinal_, bytes, seed_ + 1);
    cuda::select(ordinal_);
  }

  int64_t most() const override {
    int64_t out = kPeerTargets;
    if (write_) out = std::min(out, write_->to->count());
    if (read_) out = std::min(out, read_->to->count());
    return out;
  }

  void prepare() override {
    if (write_) poison(*write_->to, peer_ordinal_);
    if (read_) poison(*read_->to, ordinal_);
    cuda::select(ordinal_);
  }

  DataErrors verify() override {
    DataErrors out;
    if (read_) out.add(verified(*read_->to, ordinal_, seed_ + 1, where_ + " read"));
    if (write_) out.add(verified(*write_->to, peer_ordinal_, seed_, peer_where_ + " written"));
    cuda::select(ordinal_);
    return out;
  }

  void spoil() override {
    const TargetBuffers& targets = read_ ? *read_->to : *write_->to;
    cuda::select(read_ ? ordinal_ : peer_ordinal_);
    const cuda::Stream there;
    flip_on_device(targets.at(0) + targets.bytes() / 2, 0x40, there);
    cuda::select(ordinal_);
  }

 private:
  static void poison(const TargetBuffers& targets, int ordinal) {
    cuda::select(ordinal);
    const cuda::Stream there;
    targets.poison(there);
    cuda::wait(there, kGpuHangSeconds, "poisoning");
  }

  DataErrors verified(const TargetBuffers& targets, int ordinal, uint64_t seed,
                      const std::string& where) const {
    cuda::select(ordinal);
    const cuda::Stream there;
    return verify_targets(targets, count_, seed, there, where);
  }

  void move(const Way& way, int64_t i, const cuda::Stream& stream) const {
    if (by_sms_)
      cuda::check_launch(
          kernels::launch_copy(way.to->at(i), way.from->data(), way.to->bytes(), stream.handle()),
          "copy");
    else
      cuda::copy(way.to->at(i), way.from->data(), way.to->bytes(), stream);
  }

  void once(int64_t i) override {
    const bool both = write_ && read_;
    if (both) ways_.fork(stream_);
    if (write_) move(*write_, i, stream_);
    if (read_) move(*read_, i, both ? ways_.other() : stream_);
    if (both) ways_.join(stream_);
  }

  bool by_sms_;
  int peer_ordinal_;
  std::string peer_where_;
  uint64_t seed_;
  std::optional<Way> write_, read_;
  ForkJoin ways_;
};

}  // namespace

std::unique_ptr<Mover> peer_mover(const GpuUnit& unit, const GpuUnit& peer, const CopyPoint& point,
                                  uint64_t seed) {
  return std::make_unique<PeerMover>(unit, peer, point, seed);
}

}  // namespace cb
