// Bfloat16 of the toolkit's cuda_bf16.h, for the CPU: the words that kernels use.
#pragma once

#include <cuda_runtime_api.h>

#include <device_executor/narrow_float.h>

// NOLINTBEGIN(*)
using __nv_bfloat16 = device_executor::NarrowFloat<device_executor::kBfloat16>;
using __nv_bfloat162 = device_executor::NarrowPair<__nv_bfloat16>;

inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.__x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16::of_bits(bits);
}
// NOLINTEND(*)
