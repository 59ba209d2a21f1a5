#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/copy_points.h"
#include "bench/gpu/cuda/session.h"

namespace cb {

// What was wrong with moved data.
struct DataErrors {
  uint64_t wrong = 0;  // bytes, or elements of the triad
  uint64_t first = 0;  // offset of the first
  std::string where = {};
};

// One operation on one GPU (or from one to another), ready to be repeated.
class Mover {
 public:
  virtual ~Mover() = default;
  // Queues it `count` times between two events.
  virtual void start(int64_t count) = 0;
  virtual double seconds() = 0;  // waits; of one repetition
  // Repeats it over poisoned memory and compares every byte.
  virtual DataErrors check() = 0;
  // Dependent loads of one repetition; 0 where bytes are moved.
  virtual uint64_t loads() const { return 0; }
};

// Host copies; the buffers are made on the calling thread's NUMA node.
std::unique_ptr<Mover> host_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed);
// copy, triad, read.
std::unique_ptr<Mover> local_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed);
// latency on `unit`; of loads from `peer`'s memory where there is one.
std::unique_ptr<Mover> latency_mover(const GpuUnit& unit, const GpuUnit* peer, uint64_t seed);
// peer copies, started by `unit`.
std::unique_ptr<Mover> peer_mover(const GpuUnit& unit, const GpuUnit& peer, const CopyPoint& point,
                                  uint64_t seed);

}  // namespace cb
