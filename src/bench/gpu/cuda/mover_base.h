#pragma once

#include <optional>
#include <vector>

#include "bench/gpu/cuda/copies.h"
#include "bench/gpu/cuda/flip.h"
#include "kernels/fill_verify.h"

// What the movers share: a stream with two events, patterns on the device, targets side by side.
namespace cb {

// Stream and events of one GPU. A derived class queues repetition `i` of a sample in once().
class TimedMover : public Mover {
 public:
  explicit TimedMover(const GpuUnit& unit);

  void start(int64_t count) override;
  double seconds() override;

 protected:
  virtual void once(int64_t i) = 0;
  void flip(void* at) const {
    cuda::select(ordinal_);
    flip_on_device(at, 0x40, stream_);
  }

  int ordinal_;
  std::string where_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
  // Memory for a kernel's verdict on data. Allocated before anything is timed: later the memory may
  // be used up.
  cuda::DeviceMemory verdict_{sizeof(kernels::VerifyResult)};
  int64_t count_ = 1;
};

// TargetBuffers of equal size on the selected device, in one allocation.
class TargetBuffers {
 public:
  // Makes `most` targets, or fewer if a quarter of the free memory does not hold them; at least
  // one.
  TargetBuffers(size_t bytes, int64_t most);

  std::byte* at(int64_t i) const { return memory_.at(static_cast<size_t>(i) * stride_); }
  size_t bytes() const { return bytes_; }  // bytes of one target
  int64_t count() const { return count_; }
  const cuda::DeviceMemory& verdict() const { return verdict_; }
  void poison(const cuda::Stream& stream) const {
    cuda::poison(memory_.data(), memory_.bytes(), stream);
  }

 private:
  size_t bytes_, stride_;
  int64_t count_;
  cuda::DeviceMemory memory_;
  cuda::DeviceMemory verdict_{sizeof(kernels::VerifyResult)};
};

// The pattern of kernels/pattern.h in memory that the selected device reaches. verify_device()
// waits; it needs `verdict` as memory for a VerifyResult.
void fill_device(void* memory, size_t bytes, uint64_t seed, const cuda::Stream& stream);
DataErrors verify_device(const void* memory, size_t bytes, uint64_t seed,
                         const cuda::DeviceMemory& verdict, const cuda::Stream& stream,
                         const std::string& where);
DataErrors verify_targets(const TargetBuffers& targets, int64_t count, uint64_t seed,
                          const cuda::Stream& stream, const std::string& where);

// Two queues that begin and end together: one repetition of a two-way copy.
class ForkJoin {
 public:
  const cuda::Stream& other() const { return other_; }
  void fork(const cuda::Stream& stream);
  void join(const cuda::Stream& stream);

 private:
  cuda::Stream other_;
  cuda::Event begin_, end_;
};

}  // namespace cb
