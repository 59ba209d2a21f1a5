#include "kernels/gemm_data.h"

#include <cstring>
#include <initializer_list>

#include <doctest/doctest.h>

#include "kernels/hash.h"

using namespace cb::kernels;

namespace {

// The number that the bits stand for, by the definition of the format.
double decode(std::uint32_t bits, Number type) {
  const FloatLayout f = float_layout(type);
  const std::uint32_t mantissa = bits & ((1U << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.mantissa_bits & ((1U << f.exponent_bits) - 1));
  const double sign = (bits >> (f.mantissa_bits + f.exponent_bits) & 1U) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(1 + std::ldexp(mantissa, -f.mantissa_bits), exponent - f.bias);
}

constexpr std::uint64_t kSeed = 7;

}  // namespace

TEST_CASE("known bit patterns") {
  CHECK(encode_float(1, Number::bf16) == 0x3f80);
  CHECK(encode_float(-0.5, Number::bf16) == 0xbf00);
  CHECK(encode_float(1, Number::fp16) == 0x3c00);
  CHECK(encode_float(0x1p-24, Number::fp16) == 0x0001);  // smallest subnormal
  CHECK(encode_float(1, Number::fp8_e4m3) == 0x38);
  CHECK(encode_float(-448, Number::fp8_e4m3) == 0xfe);
  CHECK(encode_float(0x1p-9, Number::fp8_e4m3) == 0x01);
  CHECK(encode_float(1, Number::fp8_e5m2) == 0x3c);
  CHECK(encode_float(6, Number::fp4) == 0x7);
  CHECK(encode_float(-0.5, Number::fp4) == 0x9);
  CHECK(encode_float(1, Number::fp4) == 0x2);
  CHECK(encode_float(0, Number::bf16) == 0);
}

TEST_CASE("rounding is to the nearest number of the type, ties to even") {
  CHECK(round_to(1 + 0x1p-9, Number::bf16) == 1);
  CHECK(round_to(1 + 0x1p-8, Number::bf16) == 1);  // half way between 1 and 1 + 2^-7: to even
  CHECK(round_to(1 + 3 * 0x1p-8, Number::bf16) == 1 + 0x1p-6);
  CHECK(round_to(1 + 0x1p-8 + 0x1p-20, Number::bf16) == 1 + 0x1p-7);
  CHECK(round_to(0.3, Number::fp32) == static_cast<double>(0.3F));
  CHECK(round_to(-5.1, Number::fp4) == -6);
  CHECK(round_to(0.2, Number::fp4) == 0);
  CHECK(round_to(0.26, Number::fp4) == 0.5);
}

TEST_CASE("operands are numbers of their type, centred, and use the whole range") {
  for (const Number type :
       std::initializer_list<Number>{Number::tf32, Number::fp16, Number::bf16, Number::fp8_e4m3,
                                     Number::fp8_e5m2, Number::fp4}) {
    CAPTURE(static_cast<int>(type));
    const double top = type == Number::fp4 ? 6 : 1;
    double sum = 0, most = 0;
    for (std::uint64_t i = 0; i < 4096; ++i) {
      const double value = gemm_element(type, i, kSeed);
      if (type != Number::tf32) CHECK(decode(encode_float(value, type), type) == value);
      CHECK(std::fabs(value) <= top);
      sum += value;
      most = std::max(most, std::fabs(value));
    }
    CHECK(std::fabs(sum / 4096) < 0.05 * top);
    CHECK(most > 0.9 * top);
  }
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const double byte = gemm_element(Number::int8, i, kSeed);
    CHECK(byte == std::rint(byte));
    CHECK(std::fabs(byte) <= 127);
    const double single = gemm_element(Number::fp32, i, kSeed);
    CHECK(static_cast<double>(static_cast<float>(single)) == single);
  }
  CHECK(gemm_element(Number::bf16, 5, 1) != gemm_element(Number::bf16, 5, 2));
}

TEST_CASE("the tolerance admits rounding and nothing that a flipped exponent bit leaves") {
  // 8192 products of bf16 numbers, summed in fp32 in order, as the worst order there is.
  constexpr int k = 8192;
  float sum = 0;
  double exact = 0, magnitudes = 0;
  for (std::uint64_t i = 0; i < k; ++i) {
    const double product = gemm_element(Number::bf16, i, 1) * gemm_element(Number::bf16, i, 2);
    sum += static_cast<float>(product);
    exact += product;
    magnitudes += std::fabs(product);
  }
  const double limit = product_tolerance(exact, magnitudes, k, Number::bf16, Number::bf16);
  CHECK(std::fabs(round_to(sum, Number::bf16) - exact) <= limit);
  CHECK(std::fabs(2 * exact - exact) > limit);
  CHECK_FALSE(std::fabs(std::nan("") - exact) <= limit);
  CHECK(product_tolerance(100, 1000, k, Number::int8, Number::int32) == 0);  // integers are exact
}

TEST_CASE("the hash sees every bit and its place") {
  unsigned char data[40] = {};
  for (size_t i = 0; i < sizeof data; ++i) data[i] = static_cast<unsigned char>(i * 37);
  const std::uint64_t hash = hash_bytes(data, sizeof data);
  for (size_t bit = 0; bit < 8 * sizeof data; ++bit) {
    data[bit / 8] = static_cast<unsigned char>(data[bit / 8] ^ 1U << bit % 8);
    CHECK(hash_bytes(data, sizeof data) != hash);
    data[bit / 8] = static_cast<unsigned char>(data[bit / 8] ^ 1U << bit % 8);
  }
  CHECK(hash_bytes(data, sizeof data) == hash);
  unsigned char swapped[40];
  std::memcpy(swapped, data, sizeof data);
  std::memcpy(swapped, data + 8, 8);
  std::memcpy(swapped + 8, data, 8);
  CHECK(hash_bytes(swapped, sizeof swapped) != hash);  // the same words elsewhere
  CHECK(hash_bytes(data, 39) != hash_bytes(data, 40));
  const unsigned char zeros[16] = {};
  CHECK(hash_bytes(zeros, 8) != hash_bytes(zeros, 16));
}
