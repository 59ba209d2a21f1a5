// Numbers of 16 and 8 bits for code that is compiled for the CPU: how their bits are made and read.
#pragma once

#include <cmath>
#include <cstdint>

namespace device_executor {

// A format with a sign, an exponent whose bias is half of its range, and a mantissa.
struct NarrowFormat {
  int exponent_bits, mantissa_bits;
  std::uint32_t not_a_number;
  bool has_infinity = true;  // its highest exponent is of infinities and of what is no number
  // What is larger becomes this; 0: it becomes infinite (IEEE 754).
  double saturates_at = 0;
};
inline constexpr NarrowFormat kHalf{5, 10, 0x7fff};
inline constexpr NarrowFormat kBfloat16{8, 7, 0x7fff};
// OCP OFP8: E4M3 has no infinity, and of its highest exponent only the last is none.
inline constexpr NarrowFormat kE4m3{4, 3, 0x7f, false, 448};
inline constexpr NarrowFormat kE5m2{5, 2, 0x7f, true, 57344};

// Returns the bits of the nearest number of the format; of two that are as near, the even one.
inline std::uint32_t narrow_bits(double value, const NarrowFormat& format) {
  const int mantissa = format.mantissa_bits, width = format.exponent_bits + mantissa;
  if (std::isnan(value)) return format.not_a_number;
  const std::uint32_t sign = std::signbit(value) ? 1U << width : 0;
  double size = std::fabs(value);
  if (format.saturates_at > 0) size = std::fmin(size, format.saturates_at);
  const std::uint32_t infinite = ((1U << format.exponent_bits) - 1) << mantissa;
  if (size == 0) return sign;
  if (std::isinf(size)) return sign | infinite;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
  // Whole steps of the last bit: exact but for the rounding, which is to even.
  const auto steps =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, mantissa - exponent)));
  // A mantissa that overflows carries into the exponent, and a subnormal number has exponent 0.
  const std::uint32_t bits = (static_cast<std::uint32_t>(exponent + bias - 1) << mantissa) + steps;
  if (format.saturates_at == 0 && bits >= infinite) return sign | infinite;
  return sign | bits;
}

inline double narrow_value(std::uint32_t bits, const NarrowFormat& format) {
  const int mantissa = format.mantissa_bits, width = format.exponent_bits + mantissa;
  const std::uint32_t size = bits & ((1U << width) - 1);
  const double sign = (bits >> width & 1U) != 0 ? -1 : 1;
  const std::uint32_t fraction = size & ((1U << mantissa) - 1), exponent = size >> mantissa;
  const bool last = exponent + 1 == 1U << format.exponent_bits;
  if (size == format.not_a_number) return std::nan("");
  if (last && format.has_infinity) return fraction == 0 ? sign * INFINITY : std::nan("");
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign *
         std::ldexp(fraction + (1U << mantissa), static_cast<int>(exponent) - bias - mantissa);
}

}  // namespace device_executor
