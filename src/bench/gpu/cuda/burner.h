#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/cuda/session.h"
#include "sys/gpu/cuda/cublaslt.h"

namespace cb {

// What a burner found wrong: counts, and the first error in words.
struct BurnFindings {
  uint64_t passes = 0;
  uint64_t wrong = 0;       // wrong results, bytes, words or blocks
  uint64_t not_finite = 0;  // elements of results that are infinite or NaN
  Said first = {};          // describes the first wrong one
  bool all_tests = false;   // march only: each of its tests ran to its end
};

enum class Fault { none, bitflip, nan };

// One phase on one GPU. A step is a unit of work of some tens of milliseconds. The next step is
// queued before the results of the last one are checked, so that the GPU never waits for the host.
class Burner {
 public:
  virtual ~Burner() = default;
  // GPUs of one kind must have the same results, so they vote; empty if the host knows the results.
  virtual std::string kind() const { return ""; }
  virtual uint64_t hash() { return 0; }   // computes one clean result and returns its hash
  virtual void expect(uint64_t) {}        // takes the hash that the vote decided on
  virtual void inject(Fault) = 0;         // damages a result of the next step, once
  virtual void hang(double seconds) = 0;  // blocks the GPU for `seconds`

  // Queues a step of about `seconds` of work; the first step is as short as possible. At most
  // kMaxSteps steps are queued at once.
  virtual void start(double seconds) = 0;
  // Waits at most `deadline` seconds for the oldest step and compares its results. Returns the work
  // done, in operations or bytes.
  virtual double finish(double deadline) = 0;
  virtual int queued() const = 0;           // steps that were started but not finished
  virtual double step_seconds() const = 0;  // GPU time of the step that was finished last
  // Share of the usable memory that the results cover; nothing if they cover all of it.
  virtual std::optional<double> covered_share() const { return std::nullopt; }
  virtual const BurnFindings& findings() const = 0;
};

inline constexpr int kMaxSteps = 2;

struct BurnMaker {
  const GpuUnit* unit = nullptr;
  const cublaslt::Library* library = nullptr;  // null for phases that need none
  std::string phase;
  int64_t size = 0;
  uint64_t seed = 0;
  double memory_share = 0;
};
// Throws Error if the memory is too small or the library cannot multiply this.
std::unique_ptr<Burner> make_burner(const BurnMaker& maker);

}  // namespace cb
