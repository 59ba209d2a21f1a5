// Numbers of 8 bits of the toolkit's cuda_fp8.h, for the CPU: storage and conversion, which
// saturates to what is finite, as the toolkit's constructors do. They have no arithmetic.
#pragma once

#include <cuda_runtime_api.h>

#include <device_executor/narrow.h>

// NOLINTBEGIN(*)
struct __nv_fp8_e4m3 {
  unsigned char __x;
  __nv_fp8_e4m3() = default;
  explicit __nv_fp8_e4m3(float value)
      : __x(static_cast<unsigned char>(
            device_executor::narrow_bits(value, device_executor::kE4m3))) {}
  explicit operator float() const {
    return static_cast<float>(device_executor::narrow_value(__x, device_executor::kE4m3));
  }
};
struct __nv_fp8_e5m2 {
  unsigned char __x;
  __nv_fp8_e5m2() = default;
  explicit __nv_fp8_e5m2(float value)
      : __x(static_cast<unsigned char>(
            device_executor::narrow_bits(value, device_executor::kE5m2))) {}
  explicit operator float() const {
    return static_cast<float>(device_executor::narrow_value(__x, device_executor::kE5m2));
  }
};
// NOLINTEND(*)
