// Operations within one device's memory: copy engine, triad, reading alone.
#include <algorithm>
#include <limits>

#include "bench/gpu/cuda/mover_base.h"
#include "kernels/pattern.h"
#include "kernels/stream.h"

namespace cb {
namespace {

constexpr int64_t kLocalTargets = 8;

size_t size_of(const CopyPoint& point) { return static_cast<size_t>(point.bytes) / 16 * 16; }

class CopyMover final : public TimedMover {
 public:
  CopyMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : TimedMover(unit), from_(size_of(point)), to_(size_of(point), kLocalTargets), seed_(seed) {
    fill_device(from_.data(), from_.bytes(), seed_, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "filling");
  }

  int64_t most() const override { return to_.count(); }
  void prepare() override {
    cuda::select(ordinal_);
    to_.poison(stream_);
    cuda::wait(stream_, kGpuHangSeconds, "poisoning");
  }
  DataErrors verify() override {
    cuda::select(ordinal_);
    return verify_targets(to_, count_, seed_, stream_, where_);
  }
  void spoil() override { flip(to_.at(0) + to_.bytes() / 2); }

 private:
  void once(int64_t i) override { cuda::copy(to_.at(i), from_.data(), from_.bytes(), stream_); }

  cuda::DeviceMemory from_;
  TargetBuffers to_;
  uint64_t seed_;
};

class TriadMover final : public TimedMover {
 public:
  TriadMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : TimedMover(unit),
        elements_(size_of(point) / 8),
        b_(elements_ * 8),
        c_(elements_ * 8),
        a_(elements_ * 8, kLocalTargets),
        seed_(seed) {
    cuda::check_launch(
        kernels::launch_triad_fill(at(b_), at(c_), elements_, seed_, stream_.handle()),
        "triad_fill");
    cuda::wait(stream_, kGpuHangSeconds, "filling");
    choose();
  }

  int64_t most() const override { return a_.count(); }
  void prepare() override {
    cuda::select(ordinal_);
    a_.poison(stream_);
    cuda::wait(stream_, kGpuHangSeconds, "poisoning");
  }

  DataErrors verify() override {
    cuda::select(ordinal_);
    DataErrors out;
    for (int64_t i = 0; i < count_; ++i) out.add(verify_one(i));
    return out;
  }

  void spoil() override { flip(a_.at(0) + 7); }  // flips an exponent

  std::string how() const override {
    constexpr const char* kNames[kernels::sweeps] = {"resident blocks", "a thread a word",
                                                     "resident blocks, streamed stores"};
    return kNames[static_cast<int>(sweep_)];
  }

 private:
  // Chooses the kernel's fastest way on this GPU: the one with the least of three timings.
  void choose() {
    double least = std::numeric_limits<double>::infinity();
    kernels::Sweep best = sweep_;
    for (int way = 0; way < kernels::sweeps; ++way) {
      sweep_ = static_cast<kernels::Sweep>(way);
      for (int i = 0; i < 3; ++i) {
        start(most());
        const double took = seconds();
        if (took < least) {
          least = took;
          best = sweep_;
        }
      }
    }
    sweep_ = best;
  }

  DataErrors verify_one(int64_t i) {
    auto* found_at = static_cast<kernels::TriadResult*>(found_.data());
    cuda::check_launch(
        kernels::launch_triad_check(target(i), elements_, seed_, found_at, stream_.handle()),
        "triad_check");
    kernels::TriadResult found{};
    cuda::fetch(&found, found_at, sizeof found, stream_, kGpuHangSeconds, "checking the triad");
    return {found.wrong, found.first, where_ + ", element of a"};
  }

  static double* at(const cuda::DeviceMemory& memory) {
    return static_cast<double*>(memory.data());
  }
  double* target(int64_t i) const { return reinterpret_cast<double*>(a_.at(i)); }
  void once(int64_t i) override {
    cuda::check_launch(
        kernels::launch_triad(target(i), at(b_), at(c_), elements_, sweep_, stream_.handle()),
        "triad");
  }

  size_t elements_;
  cuda::DeviceMemory b_, c_;
  cuda::DeviceMemory found_{sizeof(kernels::TriadResult)};
  TargetBuffers a_;
  uint64_t seed_;
  kernels::Sweep sweep_ = kernels::Sweep::resident;
};

class ReadMover final : public TimedMover {
 public:
  ReadMover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed)
      : TimedMover(unit), from_(size_of(point)), sum_(8), seed_(seed) {
    fill_device(from_.data(), from_.bytes(), seed_, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "filling");
    for (size_t i = 0; i < from_.bytes() / 8; ++i) wanted_ += kernels::pattern_word(i, seed_);
  }

  // One sum collects all repetitions, so every repetition is checked.
  int64_t most() const override { return 1000; }
  void prepare() override {
    cuda::select(ordinal_);
    cuda::zero(sum_.data(), 8, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "clearing the sum");
  }

  DataErrors verify() override {
    cuda::select(ordinal_);
    uint64_t found = 0;
    cuda::fetch(&found, sum_.data(), 8, stream_, kGpuHangSeconds, "checking the sum");
    if (found == wanted_ * static_cast<uint64_t>(count_)) return {};
    // The sum tells that something is wrong; the buffer may tell where.
    DataErrors out = verify_device(from_.data(), from_.bytes(), seed_, verdict_, stream_, where_);
    if (out.wrong == 0) out = {1, 0, where_ + ", sum of what was read (memory is right now)"};
    return out;
  }

  void spoil() override { flip(from_.at(from_.bytes() / 2)); }

 private:
  void once(int64_t) override {
    cuda::check_launch(kernels::launch_read(from_.data(), from_.bytes(),
                                            static_cast<uint64_t*>(sum_.data()), stream_.handle()),
                       "read");
  }

  cuda::DeviceMemory from_, sum_;
  uint64_t seed_;
  uint64_t wanted_ = 0;
};

}  // namespace

std::unique_ptr<Mover> local_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed) {
  if (point.op.name == "copy") return std::make_unique<CopyMover>(unit, point, seed);
  if (point.op.name == "triad") return std::make_unique<TriadMover>(unit, point, seed);
  return std::make_unique<ReadMover>(unit, point, seed);
}

}  // namespace cb
