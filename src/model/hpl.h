#pragma once

#include <cstdint>
#include <span>

// What HPL 2.3 counts and compares.
namespace cb {

// 2/3·n³ + 3/2·n² for order n (testing/ptest).
double hpl_operations(int64_t order);

// The scaled residual must be below this.
inline constexpr double kHplResidualLimit = 16;

// A·x, the sums of absolute values of each row of A, b and x: all of length n.
struct HplSystem {
  std::span<const double> product, sums, b, x;
};
// ‖A·x − b‖∞ / (ε·(‖A‖∞·‖x‖∞ + ‖b‖∞)·n) with ε = 2⁻⁵³. NaN if A·x has a NaN, or the
// divisor is not finite.
double hpl_residual(const HplSystem& system);

}  // namespace cb
