// Half precision of the toolkit's cuda_fp16.h, for the CPU: the words that kernels use. Arithmetic
// rounds once, to the nearest: a float keeps enough bits of two such numbers for that.
#pragma once

#include <cuda_runtime_api.h>

#include <device_executor/narrow.h>

// NOLINTBEGIN(*)
struct alignas(2) __half {
  unsigned short __x;
  __half() = default;
  __half(float value)
      : __x(static_cast<unsigned short>(
            device_executor::narrow_bits(value, device_executor::kHalf))) {}
  operator float() const {
    return static_cast<float>(device_executor::narrow_value(__x, device_executor::kHalf));
  }
};
struct alignas(4) __half2 {
  __half x, y;
};

inline __half operator+(__half a, __half b) { return float(a) + float(b); }
inline __half operator-(__half a, __half b) { return float(a) - float(b); }
inline __half operator*(__half a, __half b) { return float(a) * float(b); }
inline __half operator/(__half a, __half b) { return float(a) / float(b); }
inline __half operator-(__half a) { return -float(a); }

inline __half __float2half(float value) { return value; }
inline __half __float2half_rn(float value) { return value; }
inline float __half2float(__half value) { return value; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
inline unsigned short __half_as_ushort(__half value) { return value.__x; }
inline __half __ushort_as_half(unsigned short bits) {
  __half out;
  out.__x = bits;
  return out;
}
// NOLINTEND(*)
