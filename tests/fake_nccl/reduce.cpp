// Reductions of the stand-in, in the plainest way: small floats by way of double.
#include <cmath>
#include <cstring>

#include "fake_nccl.h"

namespace fake {
namespace {

struct Layout {
  int mantissa, bias, bytes;
};

Layout layout(int type) {
  switch (type) {
    case 6:
      return {10, 15, 2};
    case 9:
      return {7, 127, 2};
    case 10:
      return {3, 7, 1};
    default:
      return {2, 15, 1};
  }
}

double decode(uint32_t bits, const Layout& l) {
  const int exponent_bits = l.bytes * 8 - 1 - l.mantissa;
  const int field = static_cast<int>(bits >> l.mantissa) & ((1 << exponent_bits) - 1);
  const double stored = bits & ((1U << l.mantissa) - 1);
  const double value =
      std::ldexp(stored / (1 << l.mantissa) + (field ? 1 : 0), (field ? field : 1) - l.bias);
  return (bits >> (l.bytes * 8 - 1)) & 1 ? -value : value;
}

uint32_t encode(double value, const Layout& l) {
  const uint32_t sign = value < 0 ? 1U << (l.bytes * 8 - 1) : 0;
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent) * 2;  // 1 … 2
  const auto stored = static_cast<uint32_t>(std::lround((fraction - 1) * (1 << l.mantissa)));
  const auto field = static_cast<uint32_t>(exponent - 1 + l.bias);
  return sign + (field << l.mantissa) + stored;
}

template <typename T>
T apply(int op, T a, T b) {
  switch (op) {
    case 1:
      return static_cast<T>(a * b);
    case 2:
      return a > b ? a : b;
    case 3:
      return a < b ? a : b;
    default:
      return static_cast<T>(a + b);
  }
}

template <typename T>
void combine_plain(int op, char* into, const char* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    a = apply(op, a, b);
    std::memcpy(into + i * sizeof(T), &a, sizeof(T));
  }
}

template <typename T>
void divide_plain(char* at, size_t count, int by) {
  for (size_t i = 0; i < count; ++i) {
    T a;
    std::memcpy(&a, at + i * sizeof(T), sizeof(T));
    a = static_cast<T>(a / static_cast<T>(by));
    std::memcpy(at + i * sizeof(T), &a, sizeof(T));
  }
}

void change_small(int type, char* at, size_t count,
                  const std::function<double(size_t, double)>& f) {
  const Layout l = layout(type);
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, at + i * static_cast<size_t>(l.bytes), static_cast<size_t>(l.bytes));
    bits = encode(f(i, decode(bits, l)), l);
    std::memcpy(at + i * static_cast<size_t>(l.bytes), &bits, static_cast<size_t>(l.bytes));
  }
}

template <typename With>
bool plain(int type, With with) {
  switch (type) {
    case 0:
      return with(int8_t{}), true;
    case 1:
      return with(uint8_t{}), true;
    case 2:
      return with(int32_t{}), true;
    case 3:
      return with(uint32_t{}), true;
    case 4:
      return with(int64_t{}), true;
    case 5:
      return with(uint64_t{}), true;
    case 7:
      return with(float{}), true;
    case 8:
      return with(double{}), true;
    default:
      return false;
  }
}

}  // namespace

size_t width(int type) {
  constexpr size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return widths[type];
}

void combine(int type, int op, char* into, const char* from, size_t count) {
  if (plain(type, [&](auto zero) { combine_plain<decltype(zero)>(op, into, from, count); })) return;
  const Layout l = layout(type);
  change_small(type, into, count, [&](size_t i, double a) {
    uint32_t bits = 0;
    std::memcpy(&bits, from + i * static_cast<size_t>(l.bytes), static_cast<size_t>(l.bytes));
    return apply(op, a, decode(bits, l));
  });
}

void divide(int type, char* at, size_t count, int by) {
  if (plain(type, [&](auto zero) { divide_plain<decltype(zero)>(at, count, by); })) return;
  change_small(type, at, count, [&](size_t, double a) { return a / by; });
}

}  // namespace fake
