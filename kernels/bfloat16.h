// Numbers of bf16 as their bits: the upper half of an fp32 number's.
#pragma once

#include <cstdint>

#include "kernels/launch.h"

namespace cb::kernels {

// To nearest, ties to even; a NaN stays one.
__device__ inline std::uint16_t to_bfloat16(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}
__device__ inline float from_bfloat16(std::uint16_t bits) {
  return __uint_as_float(std::uint32_t{bits} << 16);
}

}  // namespace cb::kernels
