#pragma once

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "bench/gpu/cuda/burner.h"

namespace cb {

// Stream, events and findings of a phase: what the burners share.
class BurnerBase : public Burner {
 public:
  explicit BurnerBase(const BurnMaker& maker);

  double step_seconds() const override { return seconds_; }
  const BurnFindings& findings() const override { return findings_; }
  void inject(Fault fault) override { fault_ = fault; }
  void hang(double seconds) override;
  int queued() const override { return static_cast<int>(begun_ - finished_); }

 protected:
  // Of a step as it is queued: begin(), work, end(), what is to be looked at, answer(). The GPU's
  // time is that from begin() to end(). begin() gives the place of the step among those that are
  // queued.
  size_t begin();
  void end() { steps_[last()].end.record(stream_); }
  // Host memory for the answers of all steps, of so many bytes each: before the phase, for it may
  // wait for the GPU or find none left.
  void prepare_answers(size_t bytes);
  // Brings what the host looks at out of the device's memory, which the next step writes again.
  void answer(const cuda::DeviceMemory& from);
  // Of the oldest step: waits for its answer and gives its place. Sets the time.
  size_t wait(double deadline);
  template <typename T>
  const T* answer_of(size_t step) const {
    return static_cast<const T*>(steps_[step].answer->data());
  }
  Fault take_fault() { return std::exchange(fault_, Fault::none); }
  // Counts what was wrong; the first thing is described with the GPU's name.
  void note(uint64_t wrong, const Said& what);
  // Flips a bit of a 64-bit word, or writes ones into all of it.
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

// Products of a step, of four launches at most: two where the library splits the sum, and two for
// the hash. A stream takes about a thousand launches; the one
// that finds it full waits, outside of every deadline, and the GPUs whose turn comes next wait with
// it.
inline constexpr int64_t kMaxQueued = 900 / 4 / kMaxSteps;

// How long one product, copy or launch takes before one was timed: the first step then has one.
inline constexpr double kUnknownSeconds = std::numeric_limits<double>::infinity();

// The share of the free memory that the phase may use.
size_t usable_bytes(const BurnMaker& maker);

std::unique_ptr<Burner> product_burner(const BurnMaker& maker);
std::unique_ptr<Burner> memory_burner(const BurnMaker& maker);
std::unique_ptr<Burner> sm_burner(const BurnMaker& maker);
std::unique_ptr<Burner> march_burner(const BurnMaker& maker);

}  // namespace cb
