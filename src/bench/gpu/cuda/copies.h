#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/gpu/copy_points.h"
#include "bench/gpu/cuda/session.h"

namespace cb {

// What was wrong with moved data.
struct DataErrors {
  uint64_t wrong = 0;  // bytes, or elements of the triad
  uint64_t first = 0;  // offset of the first
  std::string where = {};

  // Adds another's count; the first place of the first that has any is kept.
  void add(const DataErrors& other);
};

// One operation on one GPU (or from one to another). A sample is prepare(), start(), seconds(),
// verify(): only what lies between the events of start() is timed.
class Mover {
 public:
  virtual ~Mover() = default;
  // The most repetitions of a sample: each has a target of its own, so that each is verified.
  virtual int64_t most() const = 0;
  virtual void prepare() = 0;             // poisons the targets, and waits
  virtual void start(int64_t count) = 0;  // queues so many between two events
  virtual double seconds() = 0;           // waits; of one repetition
  virtual DataErrors verify() = 0;        // every byte of every repetition of the last start()
  // Changes one byte of what was moved, once it was: this or the next verify() has to see it.
  virtual void spoil() = 0;
  virtual DataErrors last_look() { return {}; }  // once, after all samples
  // Dependent loads of one repetition; 0 where bytes are moved.
  virtual uint64_t loads() const { return 0; }
  // How it is done where there was a choice ("swept"); else empty.
  virtual std::string how() const { return ""; }
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
