#include "kernels/gemm_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

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

namespace {

// A product of 4 rows and 32 columns over k, summed as the type's units do, and what is wrong with
// it.
class Product {
 public:
  Product(Number type, Number stored, int k) : type_(type), stored_(stored), k_(k) {
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        exact_.push_back(sum(row, column, 0));
        float single = 0;
        double twice = 0;
        for (int i = 0; i < k_; ++i) {
          single += static_cast<float>(a(row, i) * b(column, i));
          twice += a(row, i) * b(column, i);
        }
        right_.push_back(store(type == Number::fp64 || type == Number::int8 ? twice : single));
      }
    }
  }

  // How many elements are beyond the tolerance.
  template <typename Change>
  int wrong(const Change& change) const {
    int out = 0;
    for (size_t i = 0; i < exact_.size(); ++i) {
      const double limit = product_tolerance(exact_[i], k_, type_, stored_);
      out += std::fabs(change(i) - exact_[i].sum) <= limit ? 0 : 1;
    }
    return out;
  }
  double right(size_t i) const { return right_[i % right_.size()]; }
  // Without the last `left_out` of its k products.
  double shortened(size_t i, int left_out) const {
    const int row = static_cast<int>(i) / kColumns, column = static_cast<int>(i) % kColumns;
    return store(sum(row, column, left_out).sum);
  }
  // Of operands that were rounded to another type first.
  double rounded(size_t i, Number to) const {
    const int row = static_cast<int>(i) / kColumns, column = static_cast<int>(i) % kColumns;
    double out = 0;
    for (int j = 0; j < k_; ++j) out += round_to(a(row, j), to) * round_to(b(column, j), to);
    return store(out);
  }
  int elements() const { return static_cast<int>(exact_.size()); }

 private:
  static constexpr int kRows = 4, kColumns = 32;

  double a(int row, int i) const { return element(row, i, 1); }
  double b(int column, int i) const { return element(column, i, 2); }
  double element(int line, int i, std::uint64_t seed) const {
    return gemm_element(type_,
                        static_cast<std::uint64_t>(line) * static_cast<std::uint64_t>(k_) +
                            static_cast<std::uint64_t>(i),
                        seed);
  }
  ExactElement sum(int row, int column, int left_out) const {
    ExactElement out;
    for (int i = 0; i < k_ - left_out; ++i) out.add(a(row, i), b(column, i));
    return out;
  }
  double store(double value) const {
    return stored_ == Number::int32 ? value : round_to(value, stored_);
  }

  Number type_, stored_;
  int k_;
  std::vector<ExactElement> exact_;
  std::vector<double> right_;
};

struct Types {
  Number type, stored;
};
constexpr Types kProducts[] = {{Number::fp64, Number::fp64},     {Number::fp32, Number::fp32},
                               {Number::tf32, Number::fp32},     {Number::fp16, Number::fp16},
                               {Number::bf16, Number::bf16},     {Number::fp8_e4m3, Number::bf16},
                               {Number::fp8_e5m2, Number::bf16}, {Number::int8, Number::int32},
                               {Number::fp4, Number::bf16}};

}  // namespace

TEST_CASE("a product that is right is right, whatever its type") {
  for (const Types t : kProducts) {
    for (const int k : {64, 1024, 8192}) {
      const Product p(t.type, t.stored, k);
      CHECK(p.wrong([&](size_t i) { return p.right(i); }) == 0);
    }
  }
}

TEST_CASE(
    "zeros, a dropped slice of k, a shifted tile and a wrong scale are wrong, whatever the type") {
  for (const Types t : kProducts) {
    const Product p(t.type, t.stored, 8192);
    CAPTURE(static_cast<int>(t.type));
    CHECK(p.wrong([](size_t) { return 0.0; }) > p.elements() / 2);
    CHECK(p.wrong([&](size_t i) { return p.right(i + 1); }) > p.elements() / 2);
    CHECK(p.wrong([&](size_t i) { return 2 * p.right(i); }) > p.elements() / 2);
    CHECK(p.wrong([&](size_t i) { return 1.1 * p.right(i); }) > 0);
    CHECK(p.wrong([&](size_t i) { return p.shortened(i, 128); }) > 0);
    CHECK(p.wrong([](size_t) { return std::nan(""); }) == p.elements());
  }
}

// As tensor cores do: m exact products at a time, and the bits below fp32's cut off.
TEST_CASE(
    "sums that are truncated are right at the largest k, and far from half the limit at 16,384") {
  const auto worst = [](int k, int m) {
    double out = 0;
    for (std::uint64_t element = 0; element < 48; ++element) {
      ExactElement exact;
      double kept = 0;
      for (int i = 0; i < k; ++i) {
        const auto at = element * static_cast<std::uint64_t>(k) + static_cast<std::uint64_t>(i);
        const double a = gemm_element(Number::bf16, at, 1), b = gemm_element(Number::bf16, at, 2);
        exact.add(a, b);
        kept += a * b;
        if ((i + 1) % m != 0) continue;
        const float nearest = static_cast<float>(kept);
        kept = std::fabs(nearest) > std::fabs(kept) ? std::nextafter(nearest, 0.0F) : nearest;
      }
      const double limit = product_tolerance(exact, k, Number::bf16, Number::int32);
      out = std::max(out, std::fabs(kept - exact.sum) / limit);
    }
    return out;
  };
  CHECK(worst(65536, 8) < 0.5);
  CHECK(worst(16384, 8) < 0.5);
  CHECK(worst(16384, 8) > 0.02);  // it is truncation that is seen here
}

TEST_CASE("fp32 products on units that round to tf32 are wrong") {
  const Product p(Number::fp32, Number::fp32, 8192);
  CHECK(p.wrong([&](size_t i) { return p.rounded(i, Number::tf32); }) > p.elements() / 4);
}

TEST_CASE("the tolerance by its formula, from both sides of where truncation counts") {
  const ExactElement e{.sum = 100, .a2 = 9, .b2 = 16};
  const auto sums = [&](double k, Number type) {
    return product_tolerance(e, k, type, Number::int32);  // stored without rounding
  };
  CHECK(sums(16384, Number::bf16) == 16 * 0x1p-23 * 12);
  CHECK(sums(65536, Number::bf16) == 32 * 0x1p-23 * 12);
  CHECK(sums(65536, Number::fp8_e4m3) == 16 * 0x1p-13 * 12);
  CHECK(sums(8192, Number::int8) == 0);  // integers are exact
  CHECK(product_tolerance(e, 8192, Number::bf16, Number::bf16) ==
        16 * 0x1p-23 * 12 + 2 * 0x1p-8 * 100);
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
