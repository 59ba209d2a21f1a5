// Every block computes the same chain of multiply-adds and integer steps, so an SM with a different
// result is identified. The host computes the result too: no second GPU is needed.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

inline constexpr unsigned chain_threads = 256;  // threads of a block

// Returns the final value of one thread. The integer steps feed the multiply-adds, so that their
// values keep changing within [-16, 16]. IEEE 754 fixes each result, so host and device agree to
// the last bit.
CB_HOST_DEVICE inline std::uint64_t chain_result(unsigned thread, std::uint32_t iterations) {
  float x = 1.0F + static_cast<float>(thread) * 0x1p-10F;
  double y = 1.0 + static_cast<double>(thread) * 0x1p-20;
  std::uint64_t z = thread + 1;
  for (std::uint32_t i = 0; i < iterations; ++i) {
    z = pattern_word(z & 0xffff, z);
    x = fmaf(x, -0.9990234375F, 0.25F + static_cast<float>(z & 0xff) * 0x1p-10F);
    y = fma(y, -0.99951171875, 0.25 + static_cast<double>(z >> 40) * 0x1p-26);
  }
  // Whole numbers within the range of 64 bits.
  const auto whole_x = static_cast<std::int64_t>(ldexp(static_cast<double>(x), 40));
  const auto whole_y = static_cast<std::int64_t>(ldexp(y, 56));
  return z ^ static_cast<std::uint64_t>(whole_x) ^ static_cast<std::uint64_t>(whole_y);
}

// Returns the result of a whole block: the sum over its threads, modulo 2^64.
inline std::uint64_t chain_block_result(std::uint32_t iterations) {
  std::uint64_t sum = 0;
  for (unsigned t = 0; t < chain_threads; ++t) sum += chain_result(t, iterations);
  return sum;
}

struct ChainResult {
  std::uint64_t value;  // value of the last launch, or of the first wrong one
  std::uint32_t sm;     // hardware number of the SM on which the block ran in that launch
  std::uint32_t wrong;  // number of launches with a value other than the wanted one
};

// Writes one result per block. The caller clears the results before the first launch, not between
// launches: a block may run on another SM in every launch, and the first wrong result is kept.
// `damaged_block`: this block's first thread flips a bit, to prove that the error is seen; -1 for
// none.
int launch_chain(ChainResult* results, unsigned blocks, std::uint32_t iterations,
                 std::uint64_t wanted, std::int64_t damaged_block, void* stream);

// Keeps one thread busy for `seconds`, to simulate a hang that ends by itself.
int launch_spin(double seconds, void* stream);

}  // namespace cb::kernels
