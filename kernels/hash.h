// A fingerprint of device memory that depends on every bit and its place, but not on the order in
// which threads come by: the sum of mixed words modulo 2^64. The same on the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

// What word `index` adds to the hash. A single flipped bit changes it (the mixing is a bijection of
// the word for each index); two errors cancel with probability 2^-64.
CB_HOST_DEVICE constexpr std::uint64_t hash_word(std::uint64_t word, std::uint64_t index) {
  return pattern_word(index, word ^ (index + 1) * 0xd1342543de82ef95U);
}

// Hash of `bytes` bytes on the host; words are little-endian, a last partial one is filled with 0.
inline std::uint64_t hash_bytes(const unsigned char* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8 && at + i < bytes; ++i)
      word |= std::uint64_t{data[at + i]} << (8 * i);
    sum += hash_word(word, at / 8);
  }
  return sum;
}

struct HashResult {
  std::uint64_t hash;
  std::uint64_t not_finite;  // elements of 16 or 32 or 64 bits that are NaN or infinite
};

// Hash of `bytes` bytes (a multiple of 8) of device memory; with exponent_bits and mantissa_bits of
// the floating-point elements of 16, 32 or 64 bits it also counts those that are not finite, with 0
// none is looked for. Overwrites `*result`, in memory that the device can write.
int launch_hash(const void* data, std::size_t bytes, int element_bits, int exponent_bits,
                HashResult* result, void* stream);

// Lowest index of a 64-bit word that differs between two blocks of `bytes` bytes (a multiple of 8),
// and how many differ. Overwrites `*result`.
struct CompareResult {
  std::uint64_t words;
  std::uint64_t first;  // ~0 if none
};
int launch_compare(const void* a, const void* b, std::size_t bytes, CompareResult* result,
                   void* stream);

// Looks for the code of a kernel for the device that is selected: cudaErrorNoKernelImageForDevice
// and the like where this build has none.
int find_kernels();

// Flips one bit of the 64-bit word `index`, or writes ones into all of it: to prove that it is
// seen.
int launch_damage(void* data, std::uint64_t index, int bit, bool all_ones, void* stream);

}  // namespace cb::kernels
