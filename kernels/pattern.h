// The test pattern that fill writes and verify expects, the same on host and device.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define CB_HOST_DEVICE __host__ __device__
#else
#define CB_HOST_DEVICE
#endif

namespace cb::kernels {

// Returns the 64-bit word number `word` of the pattern `seed`. Every word differs from its
// neighbours in about half of its bits, so the check sees shifted, stale, zeroed and repeated data.
// Method: the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) on seed and position.
CB_HOST_DEVICE constexpr std::uint64_t pattern_word(std::uint64_t word, std::uint64_t seed) {
  std::uint64_t z = seed + (word + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Returns byte `offset` of the pattern: the words laid out in little-endian order.
CB_HOST_DEVICE constexpr std::uint8_t pattern_byte(std::uint64_t offset, std::uint64_t seed) {
  return static_cast<std::uint8_t>(pattern_word(offset / 8, seed) >> (8 * (offset % 8)));
}

}  // namespace cb::kernels
