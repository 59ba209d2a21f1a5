#pragma once

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "bench/gpu/cuda/burner.h"

namespace cb {

// What all burners share: the stream, events and findings of a phase.
class BurnerBase : public Burner {
 public:
  explicit BurnerBase(const BurnMaker& maker);

  double step_seconds() const override { return seconds_; }
  const BurnFindings& findings() const override { return findings_; }
  void inject(Fault fault) override { fault_ = fault; }
  void hang(double seconds) override;
  int queued() const override { return static_cast<int>(begun_ - finished_); }

 protected:
  // A step is queued by these calls: begin(), the work, end(), what computes the answer, answer().
  // The GPU's time runs from begin() to end(). begin() returns the index of the step among the
  // queued ones.
  size_t begin();
  void end() { steps_[last()].end.record(stream_); }
  // Allocates host memory for the answers of all steps, `bytes` each. Call it before the phase: the
  // allocation may wait for the GPU or find no memory left.
  void prepare_answers(size_t bytes);
  // Copies the answer out of device memory, which the next step overwrites.
  void answer(const cuda::DeviceMemory& from);
  // Waits for the answer of the oldest step, sets seconds_ and returns the index of the step.
  size_t wait(double deadline);
  template <typename T>
  const T* answer_of(size_t step) const {
    return static_cast<const T*>(steps_[step].answer->data());
  }
  Fault take_fault() { return std::exchange(fault_, Fault::none); }
  // Adds `wrong` to the count; keeps the first `what`, with the GPU's name.
  void note(uint64_t wrong, const Said& what);
  // Flips a bit of a 64-bit word, or sets all its bits.
  void damage(void* data, uint64_t word, Fault fault);

  int ordinal_;
  std::string where_, phase_;
  cuda::Stream stream_;
  BurnFindings findings_;
  double seconds_ = 0;
  Fault fault_ = Fault::none;

 private:
  struct Step {
    cuda::Event begin, end, answered;
    std::optional<cuda::HostMemory> answer;
  };
  size_t last() const { return (begun_ - 1) % kMaxSteps; }

  std::array<Step, kMaxSteps> steps_;
  uint64_t begun_ = 0, finished_ = 0;
};

// The most products of a step. A product takes four launches at most: two if the library splits the
// sum, and two for the hash. A stream takes about a thousand launches. A launch on a full stream
// waits without a deadline, and so do the GPUs whose turn comes next.
inline constexpr int64_t kMaxQueued = 900 / 4 / kMaxSteps;

// Time of one product, copy or launch before one was timed: the first step then has one of them.
inline constexpr double kUnknownSeconds = std::numeric_limits<double>::infinity();

// The bytes that the phase may use: `memory_share` of the free memory.
size_t usable_bytes(const BurnMaker& maker);

std::unique_ptr<Burner> product_burner(const BurnMaker& maker);
std::unique_ptr<Burner> memory_burner(const BurnMaker& maker);
std::unique_ptr<Burner> sm_burner(const BurnMaker& maker);
std::unique_ptr<Burner> march_burner(const BurnMaker& maker);

}  // namespace cb
