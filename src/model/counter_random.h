#pragma once

#include <cstdint>

namespace cb {

// SplitMix64's mixer (Steele, Lea & Flood, OOPSLA 2014): a counter becomes a random number.
constexpr uint64_t mixed(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// From 0 up to 1, without 1.
constexpr double unit_of(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace cb
