#pragma once

#include <cstdint>
#include <optional>

#include "bench/collectives/data.h"

namespace cb {

// One collective of one size over the ranks of a group, as this process makes it: its data, its
// call and its check. One implementation a library.
class CollectiveCall {
 public:
  virtual ~CollectiveCall() = default;
  // Fresh data for every call of the next run().
  virtual void prepare(uint64_t iteration) = 0;
  // calls() calls one behind the other, until this process's part in them is done. Throws Error if
  // the library reports one.
  virtual void run() = 0;
  virtual int calls() const { return 1; }
  // What was received against what prepare(iteration) made; see CollectiveShare.
  virtual std::optional<Mismatch> verify(uint64_t iteration) = 0;
  virtual void corrupt() = 0;
  virtual bool initiates() const = 0;  // of pairwise operations: its time is the pair's
};

}  // namespace cb
