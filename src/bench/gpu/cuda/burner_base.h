#pragma once

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

 protected:
  void begin();
  void end() { end_.record(stream_); }
  void wait(double deadline);
  Fault take_fault() { return std::exchange(fault_, Fault::none); }
  // Counts what was wrong; the first thing is described with the GPU's name.
  void note(uint64_t wrong, const Said& what);
  // Flips a bit of a 64-bit word, or writes ones into all of it.
  void damage(void* data, uint64_t word, Fault fault);

  int ordinal_;
  std::string where_, phase_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
  BurnFindings findings_;
  double seconds_ = 0;
  Fault fault_ = Fault::none;
};

// Products or launches of a step; a product is three launches.
inline constexpr int64_t kMostQueued = 500;

// The share of the free memory that the phase may use.
size_t usable_bytes(const BurnMaker& maker);

std::unique_ptr<Burner> product_burner(const BurnMaker& maker);
std::unique_ptr<Burner> memory_burner(const BurnMaker& maker);
std::unique_ptr<Burner> sm_burner(const BurnMaker& maker);
std::unique_ptr<Burner> march_burner(const BurnMaker& maker);

}  // namespace cb
