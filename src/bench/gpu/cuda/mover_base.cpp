#include "bench/gpu/cuda/mover_base.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr size_t kAlignment = 256;

size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t how_many(size_t stride, int64_t most) {
  const auto fit = cuda::memory_info().free_bytes / 4 / static_cast<int64_t>(stride);
  return std::clamp<int64_t>(fit, 1, std::max<int64_t>(1, most));
}

}  // namespace

void DataErrors::add(const DataErrors& other) {
  if (wrong == 0) {
    first = other.first;
    where = other.where;
  }
  wrong += other.wrong;
}

TimedMover::TimedMover(const GpuUnit& unit)
    : ordinal_(selected(unit)), where_("GPU " + unit.entity.id) {}

void TimedMover::start(int64_t count) {
  cuda::select(ordinal_);
  count_ = std::min(count, most());
  begin_.record(stream_);
  for (int64_t i = 0; i < count_; ++i) once(i);
  end_.record(stream_);
}

double TimedMover::seconds() {
  cuda::select(ordinal_);
  end_.wait(kGpuHangSeconds, fmt::format("{} copies on {}", count_, where_));
  return end_.seconds_since(begin_) / static_cast<double>(count_);
}

TargetBuffers::TargetBuffers(size_t bytes, int64_t most)
    : bytes_(bytes),
      stride_(rounded(bytes)),
      count_(how_many(stride_, most)),
      memory_(stride_ * static_cast<size_t>(count_)) {}

void fill_device(void* memory, size_t bytes, uint64_t seed, const cuda::Stream& stream) {
  cuda::check_launch(kernels::launch_fill(memory, bytes, seed, stream.handle()), "fill");
}

DataErrors verify_device(const void* memory, size_t bytes, uint64_t seed,
                         const cuda::DeviceMemory& verdict, const cuda::Stream& stream,
                         const std::string& where) {
  auto* at = static_cast<kernels::VerifyResult*>(verdict.data());
  cuda::check_launch(kernels::launch_verify(memory, bytes, seed, at, stream.handle()), "verify");
  kernels::VerifyResult found{};
  cuda::fetch(&found, at, sizeof found, stream, kGpuHangSeconds, "verifying");
  return {found.mismatches, found.first_mismatch, where};
}

DataErrors verify_targets(const TargetBuffers& targets, int64_t count, uint64_t seed,
                          const cuda::Stream& stream, const std::string& where) {
  DataErrors out;
  for (int64_t i = 0; i < count; ++i)
    out.add(verify_device(targets.at(i), targets.bytes(), seed, targets.verdict(), stream,
                          fmt::format("{}, copy {} of a sample", where, i)));
  return out;
}

void ForkJoin::fork(const cuda::Stream& stream) {
  begin_.record(stream);
  begin_.hold(other_);
}

void ForkJoin::join(const cuda::Stream& stream) {
  end_.record(other_);
  end_.hold(stream);
}

}  // namespace cb
