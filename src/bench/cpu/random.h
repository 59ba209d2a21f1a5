#pragma once

#include <cstdint>

namespace cb {

// SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) with one independent stream per (stream, index):
// the data are the same for any number of threads.
class Random {
 public:
  Random(uint64_t stream, uint64_t index) : state_(mix(mix(stream + 1) ^ (index + 1))) {}

  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  // Uniform in [0, 1) with 53 bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // Uniform in [-1, 1).
  double symmetric() { return 2 * unit() - 1; }

 private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace cb
