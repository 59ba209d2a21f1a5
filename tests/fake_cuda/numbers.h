// Numbers of the operands' types in memory, as the stand-ins write and read them.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/gemm_data.h"

namespace fake {

using cb::kernels::Number;

inline int bits_of(Number type) {
  switch (type) {
    case Number::fp64:
      return 64;
    case Number::fp32:
    case Number::tf32:
    case Number::int32:
      return 32;
    case Number::fp16:
    case Number::bf16:
      return 16;
    case Number::fp4:
      return 4;
    default:
      return 8;
  }
}

template <typename T>
T peek(const void* data, std::uint64_t i) {
  T out;
  std::memcpy(&out, static_cast<const unsigned char*>(data) + i * sizeof(T), sizeof out);
  return out;
}
template <typename T>
void poke(void* data, std::uint64_t i, T value) {
  std::memcpy(static_cast<unsigned char*>(data) + i * sizeof(T), &value, sizeof value);
}

// The value of the bits of a small floating-point type. The top exponent is not a number where the
// type has such (of e4m3 its last mantissa alone; fp4 has none).
inline double decode(std::uint32_t bits, Number type) {
  const cb::kernels::FloatLayout f = cb::kernels::float_layout(type);
  const std::uint32_t mantissa = bits & ((1U << f.mantissa_bits) - 1);
  const std::uint32_t exponent = bits >> f.mantissa_bits & ((1U << f.exponent_bits) - 1);
  const double sign = (bits >> (f.mantissa_bits + f.exponent_bits) & 1U) != 0 ? -1 : 1;
  const bool top = exponent == (1U << f.exponent_bits) - 1;
  if (top && (type == Number::fp16 || type == Number::bf16 || type == Number::fp8_e5m2)) return NAN;
  if (top && type == Number::fp8_e4m3 && mantissa == 7) return NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(mantissa + (1U << f.mantissa_bits),
                           static_cast<int>(exponent) - f.bias - f.mantissa_bits);
}

inline double load(const void* data, Number type, std::uint64_t i) {
  switch (type) {
    case Number::fp64:
      return peek<double>(data, i);
    case Number::fp32:
    case Number::tf32:
      return peek<float>(data, i);
    case Number::int32:
      return peek<std::int32_t>(data, i);
    case Number::int8:
      return peek<std::int8_t>(data, i);
    case Number::fp16:
    case Number::bf16:
      return decode(peek<std::uint16_t>(data, i), type);
    case Number::fp4:
      return decode(peek<std::uint8_t>(data, i / 2) >> (i % 2 * 4) & 15U, type);
    default:
      return decode(peek<std::uint8_t>(data, i), type);
  }
}

// `value` must be one of the type's.
inline void store(void* data, Number type, std::uint64_t i, double value) {
  switch (type) {
    case Number::fp64:
      return poke(data, i, value);
    case Number::fp32:
    case Number::tf32:
      return poke(data, i, static_cast<float>(value));
    case Number::int32:
      return poke(data, i, static_cast<std::int32_t>(value));
    case Number::int8:
      return poke(data, i, static_cast<std::int8_t>(value));
    case Number::fp16:
    case Number::bf16:
      return poke(data, i, static_cast<std::uint16_t>(cb::kernels::encode_float(value, type)));
    case Number::fp4: {
      const auto nibble = static_cast<unsigned>(cb::kernels::encode_float(value, type));
      const unsigned old = peek<std::uint8_t>(data, i / 2) & (i % 2 == 0 ? 0xf0U : 0x0fU);
      return poke(data, i / 2, static_cast<std::uint8_t>(old | nibble << (i % 2 * 4)));
    }
    default:
      return poke(data, i, static_cast<std::uint8_t>(cb::kernels::encode_float(value, type)));
  }
}

}  // namespace fake
