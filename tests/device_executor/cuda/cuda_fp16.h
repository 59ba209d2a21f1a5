// Half precision of the toolkit's cuda_fp16.h, for the CPU: the words that kernels use.
#pragma once

#include <cuda_runtime_api.h>

#include <device_executor/narrow_float.h>

// NOLINTBEGIN(*)
using __half = device_executor::NarrowFloat<device_executor::kHalf>;
using __half2 = device_executor::NarrowPair<__half>;

inline __half __float2half(float value) { return value; }
inline __half __float2half_rn(float value) { return value; }
inline float __half2float(__half value) { return value; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
inline unsigned short __half_as_ushort(__half value) { return value.__x; }
inline __half __ushort_as_half(unsigned short bits) { return __half::of_bits(bits); }
// NOLINTEND(*)
