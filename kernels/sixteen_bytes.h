// What a thread moves at once.
#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"
#include "kernels/launch.h"

namespace cb::kernels {

// 16 bytes as fp32 numbers.
template <bool Narrow>
struct Sixteen;
template <>
struct Sixteen<false> {
  static constexpr int count = 4;
  using Element = float;
  float value[count];
  __device__ explicit Sixteen(const uint4& words) {
    const unsigned word[4] = {words.x, words.y, words.z, words.w};
    for (int i = 0; i < 4; ++i) value[i] = __uint_as_float(word[i]);
  }
  __device__ static float wide(float one) { return one; }
};
template <>
struct Sixteen<true> {
  static constexpr int count = 8;
  using Element = std::uint16_t;
  float value[count];
  __device__ explicit Sixteen(const uint4& words) {
    const unsigned word[4] = {words.x, words.y, words.z, words.w};
    for (int i = 0; i < 4; ++i) {
      value[2 * i] = __uint_as_float(word[i] << 16);
      value[2 * i + 1] = __uint_as_float(word[i] & 0xffff0000U);
    }
  }
  __device__ static float wide(std::uint16_t one) { return from_bfloat16(one); }
};

__device__ inline void load_four(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

inline bool stands_at_16(const void* data, std::int64_t stride, std::int64_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(stride * bytes)) %
             16 ==
         0;
}

}  // namespace cb::kernels
