#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/cpu/memory.h"

namespace cb {

// A permutation of 0 … count-1 that is one cycle, uniformly among all such (Sattolo, Inf. Process.
// Lett. 22, 1986): next[i] follows i, and every element comes before the first comes again.
std::vector<uint32_t> random_cycle(uint32_t count, uint64_t seed);

// A working set of cache lines, each holding the address of the next in a random cycle, so that no
// prefetcher can guess it and every load waits for the one before.
class PointerChase {
 public:
  // `bytes` of working set, at least two lines of 64 bytes, at most 256 GiB.
  PointerChase(int64_t bytes, uint64_t seed);

  // Follows `steps` pointers from where the last call ended and returns the seconds it took.
  double run(uint64_t steps);

  uint64_t lines() const { return lines_; }
  // Lines met before the first one comes again: lines() if the cycle is whole.
  uint64_t cycle_length() const;
  // The first line leads past the next one, which no cycle meets any more.
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
