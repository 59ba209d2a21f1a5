#include "bench/gpu/cuda/copies.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bench/gpu/chase_cycle.h"
#include "kernels/fill_verify.h"
#include "kernels/stream.h"

namespace cb {
namespace {

using kernels::pattern_byte;
using kernels::pattern_word;

constexpr uint64_t kChaseSteps = 20000;

// Pattern of host memory, as kernels/pattern.h has it for the device.
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

DataErrors verify_device(const cuda::DeviceMemory& memory, uint64_t seed,
                         const cuda::Stream& stream, const std::string& where) {
  const cuda::DeviceMemory result(sizeof(kernels::VerifyResult));
  auto* at = static_cast<kernels::VerifyResult*>(result.data());
  cuda::check_launch(
      kernels::launch_verify(memory.data(), memory.bytes(), seed, at, stream.handle()), "verify");
  kernels::VerifyResult found{};
  cuda::copy(&found, at, sizeof found, stream);
  cuda::wait(stream, kGpuHangSeconds, "verifying");
  return {found.mismatches, found.first_mismatch, where};
}

void fill_device(const cuda::DeviceMemory& memory, uint64_t seed, const cuda::Stream& stream) {
  cuda::check_launch(kernels::launch_fill(memory.data(), memory.bytes(), seed, stream.handle()),
                     "fill");
}

int selected(const GpuUnit& unit) {
  cuda::select(unit.device.ordinal);
  return unit.device.ordinal;
}

// Stream and events of one GPU; what derives from it queues one repetition in once().
class Timed : public Mover {
 public:
  explicit Timed(const GpuUnit& unit) : ordinal_(selected(unit)), where_("GPU " + unit.entity.id) {}

  void start(int64_t count) override {
    cuda::select(ordinal_);
    begin_.record(stream_);
    for (int64_t i = 0; i < count; ++i) once();
    end_.record(stream_);
    count_ = count;
  }

  double seconds() override {
    cuda::select(ordinal_);
    end_.wait(kGpuHangSeconds, fmt::format("{} copies on {}", count_, where_));
    return end_.seconds_since(begin_) / static_cast<double>(count_);
  }

 protected:
  virtual void once() = 0;

  int ordinal_;
  std::string where_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
  int64_t count_ = 1;
};

// One or both ways between host and device; the ways have buffers and streams of their own.
class HostMover final : public Timed {
 public:
  HostMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : Timed(unit),
        up_(point.op.name != "device_to_host"),
        down_(point.op.name != "host_to_device"),
        seed_(seed) {
    const auto bytes = static_cast<size_t>(point.bytes) / 16 * 16;
    const bool pinned = point.params.text("memory") == "pinned";
    if (up_) make(up_host_, up_device_, bytes, pinned);
    if (down_) make(down_host_, down_device_, bytes, pinned);
    if (up_) fill_host(up_host_->data(), bytes, seed_);
    if (down_) {
      std::memset(down_host_->data(), 0, bytes);  // its pages exist, on this node
      fill_device(*down_device_, seed_ + 1, stream_);
    }
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }

  DataErrors check() override {
    cuda::select(ordinal_);
    if (up_) cuda::poison(up_device_->data(), up_device_->bytes(), stream_);
    if (down_) std::memset(down_host_->data(), 0xff, down_host_->bytes());
    start(1);
    seconds();
    DataErrors out;
    if (up_) out = verify_device(*up_device_, seed_, stream_, where_);
    if (down_ && out.wrong == 0)
      out = verify_host(down_host_->data(), down_host_->bytes(), seed_ + 1);
    return out;
  }

 private:
  static void make(std::optional<cuda::HostMemory>& host, std::optional<cuda::DeviceMemory>& device,
                   size_t bytes, bool pinned) {
    host.emplace(bytes, pinned);
    device.emplace(bytes);
  }

  void once() override {
    if (up_ && down_) {  // both ways start together and the repetition ends with the later one
      fork_.record(stream_);
      fork_.hold(other_);
    }
    if (up_) cuda::copy(up_device_->data(), up_host_->data(), up_host_->bytes(), stream_);
    if (down_)
      cuda::copy(down_host_->data(), down_device_->data(), down_host_->bytes(),
                 up_ ? other_ : stream_);
    if (up_ && down_) {
      join_.record(other_);
      join_.hold(stream_);
    }
  }

  bool up_, down_;
  uint64_t seed_;
  std::optional<cuda::HostMemory> up_host_, down_host_;
  std::optional<cuda::DeviceMemory> up_device_, down_device_;
  cuda::Stream other_;
  cuda::Event fork_, join_;
};

class CopyMover final : public Timed {
 public:
  CopyMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : Timed(unit), from_(size_of(point)), to_(size_of(point)), seed_(seed) {
    fill_device(from_, seed_, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }
  DataErrors check() override {
    cuda::select(ordinal_);
    cuda::poison(to_.data(), to_.bytes(), stream_);
    once();
    return verify_device(to_, seed_, stream_, where_);
  }

 private:
  static size_t size_of(const CopyPoint& point) {
    return static_cast<size_t>(point.bytes) / 16 * 16;
  }
  void once() override { cuda::copy(to_.data(), from_.data(), from_.bytes(), stream_); }

  cuda::DeviceMemory from_, to_;
  uint64_t seed_;
};

class TriadMover final : public Timed {
 public:
  TriadMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : Timed(unit),
        elements_(static_cast<size_t>(point.bytes) / 16 * 2),
        a_(elements_ * 8),
        b_(elements_ * 8),
        c_(elements_ * 8),
        seed_(seed) {
    cuda::check_launch(
        kernels::launch_triad_fill(at(b_), at(c_), elements_, seed_, stream_.handle()),
        "triad_fill");
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }

  DataErrors check() override {
    cuda::select(ordinal_);
    cuda::poison(a_.data(), a_.bytes(), stream_);
    once();
    const cuda::DeviceMemory result(sizeof(kernels::TriadResult));
    auto* found_at = static_cast<kernels::TriadResult*>(result.data());
    cuda::check_launch(
        kernels::launch_triad_check(at(a_), elements_, seed_, found_at, stream_.handle()),
        "triad_check");
    kernels::TriadResult found{};
    cuda::copy(&found, found_at, sizeof found, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "checking the triad");
    return {found.wrong, found.first, where_};
  }

 private:
  static double* at(const cuda::DeviceMemory& memory) {
    return static_cast<double*>(memory.data());
  }
  void once() override {
    cuda::check_launch(kernels::launch_triad(at(a_), at(b_), at(c_), elements_, stream_.handle()),
                       "triad");
  }

  size_t elements_;
  cuda::DeviceMemory a_, b_, c_;
  uint64_t seed_;
};

class ReadMover final : public Timed {
 public:
  ReadMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : Timed(unit), from_(static_cast<size_t>(point.bytes) / 16 * 16), sum_(8), seed_(seed) {
    fill_device(from_, seed_, stream_);
    cuda::zero(sum_.data(), 8, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }

  DataErrors check() override {
    cuda::select(ordinal_);
    uint64_t wanted = 0, found = 0;
    for (size_t i = 0; i < from_.bytes() / 8; ++i) wanted += pattern_word(i, seed_);
    cuda::zero(sum_.data(), 8, stream_);
    once();
    cuda::copy(&found, sum_.data(), 8, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "checking the sum");
    if (found == wanted) return {};
    // The sum says only that something is wrong: look where.
    DataErrors out = verify_device(from_, seed_, stream_, where_);
    out.wrong = std::max<uint64_t>(out.wrong, 1);
    return out;
  }

 private:
  void once() override {
    cuda::check_launch(kernels::launch_read(from_.data(), from_.bytes(),
                                            static_cast<uint64_t*>(sum_.data()), stream_.handle()),
                       "read");
  }

  cuda::DeviceMemory from_, sum_;
  uint64_t seed_;
};

class ChaseMover final : public Timed {
 public:
  // The lines lie on `home`; far beyond its second-level cache.
  ChaseMover(const GpuUnit& unit, const GpuUnit& home, uint64_t seed)
      : Timed(unit), cycle_(random_cycle(lines_for(home), seed)) {
    constexpr size_t kLine = kernels::chase_line_bytes;
    std::vector<uint64_t> image(cycle_.size() * kLine / 8);
    for (size_t i = 0; i < cycle_.size(); ++i) image[i * kLine / 8] = cycle_[i];
    cuda::select(home.device.ordinal);
    lines_.emplace(image.size() * 8);
    cuda::select(ordinal_);
    end_index_.emplace(8);
    cuda::copy(lines_->data(), image.data(), lines_->bytes(), stream_);
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }

  uint64_t loads() const override { return kChaseSteps; }

  DataErrors check() override {
    cuda::select(ordinal_);
    cuda::poison(end_index_->data(), 8, stream_);
    once();
    uint64_t found = 0;
    cuda::copy(&found, end_index_->data(), 8, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "checking the chase");
    const bool right = found == follow(cycle_, kChaseSteps);
    return {right ? uint64_t{0} : uint64_t{1}, 0, where_ + ", end of the chase"};
  }

 private:
  static uint64_t lines_for(const GpuUnit& home) {
    constexpr int64_t kLeast = int64_t{64} << 20;
    const int64_t bytes = std::max(kLeast, 4 * home.device.l2_bytes);
    return static_cast<uint64_t>(bytes) / kernels::chase_line_bytes;
  }
  void once() override {
    cuda::check_launch(
        kernels::launch_chase(lines_->data(), kChaseSteps,
                              static_cast<uint64_t*>(end_index_->data()), stream_.handle()),
        "chase");
  }

  std::vector<uint64_t> cycle_;
  std::optional<cuda::DeviceMemory> lines_, end_index_;
};

// Between two GPUs; `unit` starts the copies. Two-way: its own writes and its own reads at once.
class PeerMover final : public Timed {
 public:
  PeerMover(const GpuUnit& unit, const GpuUnit& peer, const CopyPoint& point, uint64_t seed)
      : Timed(unit),
        writes_(point.op.name != "peer_read"),
        reads_(point.op.name != "peer_write"),
        by_sms_(point.params.text("engine") == "sm"),
        peer_ordinal_(peer.device.ordinal),
        peer_where_("GPU " + peer.entity.id),
        seed_(seed) {
    const auto bytes = static_cast<size_t>(point.bytes) / 16 * 16;
    if (writes_) write_from_.emplace(bytes);
    if (reads_) read_to_.emplace(bytes);
    if (writes_) fill_device(*write_from_, seed_, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "filling");
    cuda::select(peer_ordinal_);
    const cuda::Stream there;
    if (writes_) write_to_.emplace(bytes);
    if (reads_) read_from_.emplace(bytes);
    if (reads_) fill_device(*read_from_, seed_ + 1, there);
    cuda::wait(there, kGpuHangSeconds, "filling");
    cuda::select(ordinal_);
  }

  DataErrors check() override {
    DataErrors out;
    if (writes_) {
      cuda::select(peer_ordinal_);
      const cuda::Stream there;
      cuda::poison(write_to_->data(), write_to_->bytes(), there);
      cuda::wait(there, kGpuHangSeconds, "poisoning");
    }
    cuda::select(ordinal_);
    if (reads_) cuda::poison(read_to_->data(), read_to_->bytes(), stream_);
    start(1);
    seconds();
    if (reads_) out = verify_device(*read_to_, seed_ + 1, stream_, where_ + " read");
    if (writes_ && out.wrong == 0) {
      cuda::select(peer_ordinal_);
      const cuda::Stream there;
      out = verify_device(*write_to_, seed_, there, peer_where_ + " written");
      cuda::select(ordinal_);
    }
    return out;
  }

 private:
  void move(const cuda::DeviceMemory& to, const cuda::DeviceMemory& from,
            const cuda::Stream& stream) const {
    if (by_sms_)
      cuda::check_launch(kernels::launch_copy(to.data(), from.data(), to.bytes(), stream.handle()),
                         "copy");
    else
      cuda::copy(to.data(), from.data(), to.bytes(), stream);
  }

  void once() override {
    const bool both = writes_ && reads_;
    if (both) {
      fork_.record(stream_);
      fork_.hold(other_);
    }
    if (writes_) move(*write_to_, *write_from_, stream_);
    if (reads_) move(*read_to_, *read_from_, both ? other_ : stream_);
    if (both) {
      join_.record(other_);
      join_.hold(stream_);
    }
  }

  bool writes_, reads_, by_sms_;
  int peer_ordinal_;
  std::string peer_where_;
  uint64_t seed_;
  std::optional<cuda::DeviceMemory> write_from_, write_to_, read_from_, read_to_;
  cuda::Stream other_;
  cuda::Event fork_, join_;
};

}  // namespace

std::unique_ptr<Mover> host_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed) {
  return std::make_unique<HostMover>(unit, point, seed);
}

std::unique_ptr<Mover> local_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed) {
  if (point.op.name == "copy") return std::make_unique<CopyMover>(unit, point, seed);
  if (point.op.name == "triad") return std::make_unique<TriadMover>(unit, point, seed);
  return std::make_unique<ReadMover>(unit, point, seed);
}

std::unique_ptr<Mover> latency_mover(const GpuUnit& unit, const GpuUnit* peer, uint64_t seed) {
  return std::make_unique<ChaseMover>(unit, peer == nullptr ? unit : *peer, seed);
}

std::unique_ptr<Mover> peer_mover(const GpuUnit& unit, const GpuUnit& peer, const CopyPoint& point,
                                  uint64_t seed) {
  return std::make_unique<PeerMover>(unit, peer, point, seed);
}

}  // namespace cb
