#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/gpu/copy_points.h"
#include "bench/gpu/cuda/session.h"

namespace cb {

// What was wrong in the moved data.
struct DataErrors {
  uint64_t wrong = 0;  // wrong bytes; for the triad: elements
  uint64_t first = 0;  // offset of the first wrong one
  std::string where = {};

  // Adds the count of `other`. The first place that was ever added is kept.
  void add(const DataErrors& other);
};

// One operation on one GPU, or from one GPU to another. A sample is prepare(), start(), seconds(),
// verify(). The timed part lies between the two events of start().
class Mover {
 public:
  virtual ~Mover() = default;
  // The most repetitions of a sample: each has its own target, so that each can be verified.
  virtual int64_t most() const = 0;
  virtual void prepare() = 0;             // poisons the targets, and waits
  virtual void start(int64_t count) = 0;  // queues `count` repetitions between two events
  virtual double seconds() = 0;           // waits; returns the time of one repetition
  virtual DataErrors verify() = 0;  // checks every byte of every repetition of the last start()
  // Changes one byte of the moved data, after the move: this verify() or the next has to see it.
  virtual void spoil() = 0;
  virtual DataErrors last_look() { return {}; }  // called once, after all samples
  // Dependent loads of one repetition; 0 if the operation moves bytes.
  virtual uint64_t loads() const { return 0; }
  // The variant in use if there was a choice ("resident blocks"); else empty.
  virtual std::string how() const { return ""; }
};

// Copies between host and device. The buffers are made on the calling thread's NUMA node.
std::unique_ptr<Mover> host_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed);
// The operations copy, triad and read.
std::unique_ptr<Mover> local_mover(const GpuUnit& unit, const CopyPoint& point, uint64_t seed);
// Latency of loads by `unit`: from `peer`'s memory if there is a peer, else from its own.
std::unique_ptr<Mover> latency_mover(const GpuUnit& unit, const GpuUnit* peer, uint64_t seed);
// Copies between two GPUs; `unit` starts them.
std::unique_ptr<Mover> peer_mover(const GpuUnit& unit, const GpuUnit& peer, const CopyPoint& point,
                                  uint64_t seed);

}  // namespace cb
