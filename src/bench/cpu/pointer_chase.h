#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/cpu/memory.h"

namespace cb {

// A permutation of 0 … count-1 that is one cycle, drawn uniformly from all such (Sattolo, Inf.
// Process. Lett. 22, 1986): next[i] follows i, and every element occurs before the first occurs
// again.
std::vector<uint32_t> random_cycle(uint32_t count, uint64_t seed);

// A working set of cache lines in a random cycle: each holds the address of the next. No prefetcher
// can guess it, and every load waits for the one before.
class PointerChase {
 public:
  // `bytes`: size of the working set, at least two lines of 64 bytes, at most 256 GiB.
  PointerChase(int64_t bytes, uint64_t seed);

  // Follows `steps` pointers from where the last call ended. Returns the seconds this took.
  double run(uint64_t steps);

  uint64_t lines() const { return lines_; }
  // Number of lines met before the first one comes again; lines() if the cycle is whole.
  uint64_t cycle_length() const;
  // Makes the first line skip the next one, which the cycle then misses.
  void spoil() { memory_[0].next = memory_[0].next->next; }

 private:
  struct alignas(64) Line {
    Line* next;
  };
  uint64_t lines_;
  Pages<Line> memory_;
  Line* at_;
};

}  // namespace cb
