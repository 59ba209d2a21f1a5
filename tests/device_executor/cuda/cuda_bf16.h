// Bfloat16 of the toolkit's cuda_bf16.h, for the CPU: the words that kernels use. Arithmetic rounds
// once, to the nearest: a float keeps enough bits of two such numbers for that.
#pragma once

#include <cuda_runtime_api.h>

#include <device_executor/narrow.h>

// NOLINTBEGIN(*)
struct alignas(2) __nv_bfloat16 {
  unsigned short __x;
  __nv_bfloat16() = default;
  __nv_bfloat16(float value)
      : __x(static_cast<unsigned short>(
            device_executor::narrow_bits(value, device_executor::kBfloat16))) {}
  operator float() const {
    return static_cast<float>(device_executor::narrow_value(__x, device_executor::kBfloat16));
  }
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) + float(b); }
inline __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) - float(b); }
inline __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) * float(b); }
inline __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) / float(b); }
inline __nv_bfloat16 operator-(__nv_bfloat16 a) { return -float(a); }

inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.__x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 out;
  out.__x = bits;
  return out;
}
// NOLINTEND(*)
