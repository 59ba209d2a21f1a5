// Numbers for the kernels of a training step, and how near a result must be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/pattern.h"
#include "kernels/train.h"
#include "tests/unit/kernels/on_executor.h"

namespace train_data {

using on_executor::DeviceArray;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// In [-1, 1).
inline float number(std::uint64_t i, std::uint64_t seed) {
  return static_cast<float>(
      static_cast<double>(static_cast<std::int64_t>(cb::kernels::pattern_word(i, seed)) >> 11) *
      0x1p-52);
}

inline void fill(DeviceArray<float>& to, std::uint64_t seed) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = number(i, seed);
}

inline std::vector<double> values_of(DeviceArray<float>& from) {
  return {from.begin(), from.end()};
}

// How many differ by more than `tolerance` of the larger of 1 and what is wanted; a NaN differs
// from all but a NaN.
inline std::size_t wrong(DeviceArray<float>& got, const std::vector<double>& wanted,
                         double tolerance = 2e-6) {
  std::size_t out = got.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    const double is = static_cast<double>(got[i]);
    if (std::isnan(wanted[i])) {
      out += !std::isnan(is);
      continue;
    }
    out += !(std::abs(is - wanted[i]) <= tolerance * std::max(1.0, std::abs(wanted[i])));
  }
  return out;
}

}  // namespace train_data
