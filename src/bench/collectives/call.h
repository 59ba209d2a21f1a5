#pragma once

#include <cstdint>
#include <optional>

#include "bench/collectives/data.h"

namespace cb {

// One collective of one size over the ranks of a group, seen from this process: its data, its call
// and its check. Each library has its implementation.
class CollectiveCall {
 public:
  virtual ~CollectiveCall() = default;
  // Makes fresh data for every call of the next run().
  virtual void prepare(uint64_t iteration) = 0;
  // Makes calls() calls back to back and returns when this process's part in them is done. Throws
  // Error if the library reports one.
  virtual void run() = 0;
  virtual int calls() const { return 1; }
  // Compares what was received with what prepare(iteration) made; see RankBuffers.
  virtual std::optional<Mismatch> verify(uint64_t iteration) = 0;
  virtual void corrupt() = 0;
  virtual bool initiates() const = 0;  // pairwise operations: its time is the pair's time
};

}  // namespace cb
