#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/cuda/session.h"
#include "sys/gpu/cuda/cublaslt.h"

namespace cb {

// What a burner found wrong, counted and described once.
struct BurnFindings {
  uint64_t passes = 0;
  uint64_t wrong = 0;       // results, bytes, words or blocks that are not what they must be
  uint64_t not_finite = 0;  // elements of results
  Said first = {};          // the first wrong one, in words
  bool all_tests = false;   // of the march: each of its tests was done to its end
};

enum class Fault { none, bitflip, nan };

// One phase on one GPU. A step is a unit of work of some tens of milliseconds. The next one is
// queued before the results of the last are looked at, so that the GPU never waits for the host.
class Burner {
 public:
  virtual ~Burner() = default;
  // What the results must be like, for the vote; empty where the host knows it already.
  virtual std::string kind() const { return ""; }
  virtual uint64_t hash() { return 0; }   // of one clean result
  virtual void expect(uint64_t) {}        // what the vote decided
  virtual void inject(Fault) = 0;         // once, in the next step
  virtual void hang(double seconds) = 0;  // the GPU gets stuck for so long

  // Queues a step of about so much work, the first one of as little as there is. At most kMaxSteps
  // are queued at once.
  virtual void start(double seconds) = 0;
  // Of the oldest step: waits at most `deadline` seconds and compares. Returns the work done:
  // operations or bytes.
  virtual double finish(double deadline) = 0;
  virtual int queued() const = 0;           // steps that were started and not finished
  virtual double step_seconds() const = 0;  // that the GPU took for the step finished last
  // Where the results are too many: which share of the memory that may be used they cover.
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
// Throws Error where the memory does not suffice or the library cannot multiply this.
std::unique_ptr<Burner> make_burner(const BurnMaker& maker);

}  // namespace cb
