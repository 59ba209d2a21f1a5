// The operands of GPU matrix products: the same numbers on host and device, so that the host can
// compute what a product must be without reading the operands back.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

enum class Number : int { fp64, fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, fp4, int32 };

// Layout of a binary floating-point type: IEEE 754 with these widths; infinities are never used.
struct FloatLayout {
  int mantissa_bits;  // without the implicit leading bit
  int exponent_bits;
  int bias;
};

CB_HOST_DEVICE constexpr FloatLayout float_layout(Number type) {
  switch (type) {
    case Number::fp64:
      return {52, 11, 1023};
    case Number::fp32:
      return {23, 8, 127};
    case Number::tf32:
      return {10, 8, 127};
    case Number::fp16:
      return {10, 5, 15};
    case Number::bf16:
      return {7, 8, 127};
    case Number::fp8_e4m3:
      return {3, 4, 7};
    case Number::fp8_e5m2:
      return {2, 5, 15};
    case Number::fp4:
      return {1, 2, 1};
    default:
      return {0, 0, 0};
  }
}

// Rounds to the nearest number of the type (ties to even); `value` must be within its range.
CB_HOST_DEVICE inline double round_to(double value, Number type) {
  if (value == 0) return 0;
  const FloatLayout f = float_layout(type);
  const int least = 1 - f.bias;  // exponent of the smallest normal number
  int exponent = ilogb(value);
  if (exponent < least) exponent = least;
  const double step = ldexp(1.0, exponent - f.mantissa_bits);
  return rint(value / step) * step;
}

// Returns the bits of a number of the type; `value` must be such a number, as round_to() returns.
CB_HOST_DEVICE inline std::uint32_t encode_float(double value, Number type) {
  const FloatLayout f = float_layout(type);
  const std::uint32_t sign =
      value < 0 ? std::uint32_t{1} << (f.mantissa_bits + f.exponent_bits) : 0;
  if (value == 0) return sign;
  const int least = 1 - f.bias;
  const int exponent = ilogb(value);
  if (exponent < least)  // subnormal: a multiple of the smallest step
    return sign | static_cast<std::uint32_t>(ldexp(fabs(value), f.mantissa_bits - least));
  const auto whole = static_cast<std::uint32_t>(ldexp(fabs(value), f.mantissa_bits - exponent));
  const std::uint32_t mantissa = whole - (std::uint32_t{1} << f.mantissa_bits);
  return sign | static_cast<std::uint32_t>(exponent + f.bias) << f.mantissa_bits | mantissa;
}

// Returns element `index` of the operand `seed`: uniform over its whole range, so that all bits of
// the mantissa toggle (which draws power), and exact in the type. fp4 spans [-6, 6], int8 [-127,
// 127], the others [-1, 1].
CB_HOST_DEVICE inline double gemm_element(Number type, std::uint64_t index, std::uint64_t seed) {
  // A number in [-1, 1) from 53 random bits.
  const double unit =
      static_cast<double>(static_cast<std::int64_t>(pattern_word(index, seed)) >> 11) * 0x1p-52;
  if (type == Number::fp64) return unit;
  if (type == Number::int8) return rint(unit * 127);
  return round_to(type == Number::fp4 ? unit * 6 : unit, type);
}

// Returns the unit roundoff of the sums, which is that of the accumulating type. fp8 counts as
// Hopper's fast accumulation, for which 13 bits were measured (DeepSeek-V3, arXiv 2412.19437,
// §3.3.2).
CB_HOST_DEVICE constexpr double sum_roundoff(Number type) {
  if (type == Number::fp64) return 0x1p-53;
  if (type == Number::int8) return 0;
  if (type == Number::fp8_e4m3 || type == Number::fp8_e5m2) return 0x1p-13;
  return 0x1p-23;  // fp32 sums; the tensor cores truncate, hence not 2^-24
}

// Returns the unit roundoff of the stored result.
CB_HOST_DEVICE inline double stored_roundoff(Number stored) {
  return stored == Number::int32 ? 0 : ldexp(1.0, -1 - float_layout(stored).mantissa_bits);
}

// An element of the product, computed in fp64, and the squared norms of its row and column.
struct ExactElement {
  double sum = 0, a2 = 0, b2 = 0;

  CB_HOST_DEVICE void add(double a, double b) {
    sum += a * b;
    a2 += a * a;
    b2 += b * b;
  }
};

// Returns how far an element may be from the exact one: c·u·‖a‖₂·‖b‖₂ for the sums, plus one
// rounding for storing. Data of mean zero errs by a small multiple of u·‖a‖·‖b‖ for every k (Higham
// and Mary, SISC 42, 2020), so c = 16, far below an element's own size of about √k/3. Tensor cores
// that truncate fp32 sums every m products err by about √k/(3m) of it: partial sums grow as √j, and
// each loses half a unit. With m = 8, and twice that for the largest of many, c = √k/8 if that is
// more.
CB_HOST_DEVICE inline double product_tolerance(const ExactElement& exact, double k, Number type,
                                               Number stored) {
  // For fp8, m is 32.
  const bool fp8 = type == Number::fp8_e4m3 || type == Number::fp8_e5m2;
  const double c = fp8 || k <= 16384 ? 16 : sqrt(k) / 8;
  return c * sum_roundoff(type) * sqrt(exact.a2) * sqrt(exact.b2) +
         2 * stored_roundoff(stored) * fabs(exact.sum);
}

// The result of a comparison with the reference.
struct ProductResult {
  std::uint64_t checked;
  std::uint64_t wrong;       // elements beyond the tolerance, including those that are not finite
  std::uint64_t not_finite;  // elements that are NaN or infinite
  std::uint64_t first;       // lowest wrong element's index in the column-major result
};
inline constexpr std::uint64_t no_element = ~std::uint64_t{0};

// Fills `elements` elements of the type with operand `seed`. fp4 has two elements to a byte, so its
// number must be even.
int launch_gemm_fill(void* data, Number type, std::uint64_t elements, std::uint64_t seed,
                     void* stream);

struct ProductCheck {
  Number a, b;    // types of the operands
  Number stored;  // type of the result: fp64, fp32, fp16, bf16 or int32
  std::uint64_t m, n, k;
  std::uint64_t seed_a, seed_b;
  std::uint64_t row_step, row_offset;  // checks rows row_offset, row_offset + row_step, …
};

// Compares rows of D = Aᵀ·B with sums in fp64 of the operands' elements. D is column-major m×n, A
// has k elements for each of the m rows, B has k elements for each of the n columns. Overwrites
// `*result`, which must be in memory that the device can write.
int launch_gemm_check(const void* d, const ProductCheck& check, ProductResult* result,
                      void* stream);

}  // namespace cb::kernels
