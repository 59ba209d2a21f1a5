// A fingerprint of device memory: the sum of mixed words modulo 2^64. It depends on every bit and
// its place, but not on the order of the threads, and is the same on the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

// Returns what word `index` adds to the hash. A single flipped bit changes it (for each index the
// mixing is a bijection of the word); two errors cancel with probability 2^-64.
CB_HOST_DEVICE constexpr std::uint64_t hash_word(std::uint64_t word, std::uint64_t index) {
  return pattern_word(index, word ^ (index + 1) * 0xd1342543de82ef95U);
}

// Returns the hash of `bytes` bytes on the host. Words are little-endian; zeros fill a last,
// partial word.
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
  std::uint64_t not_finite;  // number of 16, 32 or 64-bit elements that are NaN or infinite
};

// Hashes `bytes` bytes (a multiple of 8) of device memory. With `exponent_bits` of the
// floating-point elements of `element_bits` (16, 32 or 64) it also counts those that are not
// finite; 0 does not look for any. Overwrites `*result`, which must be in memory that the device
// can write.
int launch_hash(const void* data, std::size_t bytes, int element_bits, int exponent_bits,
                HashResult* result, void* stream);

// Counts the 64-bit words that differ between two blocks of `bytes` bytes (a multiple of 8), and
// finds the lowest index of one. Overwrites `*result`.
struct CompareResult {
  std::uint64_t words;
  std::uint64_t first;  // ~0 if no word differs
};
int launch_compare(const void* a, const void* b, std::size_t bytes, CompareResult* result,
                   void* stream);

// Checks that this build has kernels for the selected device: returns
// cudaErrorNoKernelImageForDevice or a similar error if it has none.
int find_kernels();

// Flips one bit of the 64-bit word `index`, or writes ones into all of it, to prove that the damage
// is seen.
int launch_damage(void* data, std::uint64_t index, int bit, bool all_ones, void* stream);

}  // namespace cb::kernels
