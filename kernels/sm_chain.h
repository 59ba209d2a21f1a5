// The same chain of multiply-adds and integer steps in every block, so that an SM whose result
// differs names itself. The host computes the result too: it needs no second GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

inline constexpr unsigned chain_threads = 256;  // of a block

// What one thread ends with. The multiply-adds are fed from the integer steps, so that their values
// keep moving through [-16, 16]; IEEE 754 fixes each result, so host and device agree to the last
// bit.
CB_HOST_DEVICE inline std::uint64_t chain_result(unsigned thread, std::uint32_t iterations) {
  float x = 1.0F + static_cast<float>(thread) * 0x1p-10F;
  double y = 1.0 + static_cast<double>(thread) * 0x1p-20;
  std::uint64_t z = thread + 1;
  for (std::uint32_t i = 0; i < iterations; ++i) {
    z = pattern_word(z & 0xffff, z);
    x = fmaf(x, -0.9990234375F, 0.25F + static_cast<float>(z & 0xff) * 0x1p-10F);
    y = fma(y, -0.99951171875, 0.25 + static_cast<double>(z >> 40) * 0x1p-26);
  }
  // As whole numbers, within the range of 64 bits.
  const auto whole_x = static_cast<std::int64_t>(ldexp(static_cast<double>(x), 40));
  const auto whole_y = static_cast<std::int64_t>(ldexp(y, 56));
  return z ^ static_cast<std::uint64_t>(whole_x) ^ static_cast<std::uint64_t>(whole_y);
}

// Of a whole block: the sum over its threads, modulo 2^64.
inline std::uint64_t chain_block_result(std::uint32_t iterations) {
  std::uint64_t sum = 0;
  for (unsigned t = 0; t < chain_threads; ++t) sum += chain_result(t, iterations);
  return sum;
}

struct ChainResult {
  std::uint64_t value;  // of the last launch, or of the first that was wrong
  std::uint32_t sm;     // the hardware's number of the SM that the block ran on then
  std::uint32_t wrong;  // launches whose value was not the wanted one
};

// One result per block, which the caller has cleared before the first launch: a block may run on
// another SM in every launch, and what was wrong once is kept. `damaged_block`: this block's first
// thread flips a bit, to prove that it is seen; -1 for none.
int launch_chain(ChainResult* results, unsigned blocks, std::uint32_t iterations,
                 std::uint64_t wanted, std::int64_t damaged_block, void* stream);

// Keeps one thread busy for that long, to play a hang that ends by itself.
int launch_spin(double seconds, void* stream);

}  // namespace cb::kernels
