// A number of 16 bits with the arithmetic of the toolkit's types, for the CPU. An operation rounds
// once, to the nearest: a float keeps enough bits of two such numbers for that.
#pragma once

#include <device_executor/narrow.h>

namespace device_executor {

// NOLINTBEGIN(*)
template <const NarrowFormat& kFormat>
struct alignas(2) NarrowFloat {
  unsigned short __x;  // the toolkit's name of the bits
  NarrowFloat() = default;
  NarrowFloat(float value) : __x(static_cast<unsigned short>(narrow_bits(value, kFormat))) {}
  operator float() const { return static_cast<float>(narrow_value(__x, kFormat)); }

  static NarrowFloat of_bits(unsigned short bits) {
    NarrowFloat out;
    out.__x = bits;
    return out;
  }
  friend NarrowFloat operator+(NarrowFloat a, NarrowFloat b) { return float(a) + float(b); }
  friend NarrowFloat operator-(NarrowFloat a, NarrowFloat b) { return float(a) - float(b); }
  friend NarrowFloat operator*(NarrowFloat a, NarrowFloat b) { return float(a) * float(b); }
  friend NarrowFloat operator/(NarrowFloat a, NarrowFloat b) { return float(a) / float(b); }
  friend NarrowFloat operator-(NarrowFloat a) { return -float(a); }
};

template <class Number>
struct alignas(4) NarrowPair {
  Number x, y;
};
// NOLINTEND(*)

}  // namespace device_executor
