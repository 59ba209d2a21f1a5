// Numbers of 8 bits of the toolkit's cuda_fp8.h, for the CPU: storage and conversion, which
// saturates to what is finite, as the toolkit's constructors do. They have no arithmetic.
#pragma once

#include <cuda_runtime_api.h>

#include <device_executor/narrow.h>

// NOLINTBEGIN(*)
namespace device_executor {
template <const NarrowFormat& kFormat>
struct NarrowByte {
  unsigned char __x;
  NarrowByte() = default;
  explicit NarrowByte(float value) : __x(static_cast<unsigned char>(narrow_bits(value, kFormat))) {}
  explicit operator float() const { return static_cast<float>(narrow_value(__x, kFormat)); }
};
}  // namespace device_executor

using __nv_fp8_e4m3 = device_executor::NarrowByte<device_executor::kE4m3>;
using __nv_fp8_e5m2 = device_executor::NarrowByte<device_executor::kE5m2>;
// NOLINTEND(*)
