#pragma once

#include <cmath>
#include <cstdint>

namespace cb::training {

// Cosines and sines of rotary positions, dim/2 a position: frequency i of half is
// 500000^(−2i/dim) (Llama 3's base).
template <typename Real>
void write_angles(Real* cosines, Real* sines, int64_t positions, int64_t half) {
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) *
                           std::pow(500000.0, -static_cast<double>(i) / static_cast<double>(half));
      cosines[position * half + i] = static_cast<Real>(std::cos(angle));
      sines[position * half + i] = static_cast<Real>(std::sin(angle));
    }
}

}  // namespace cb::training
