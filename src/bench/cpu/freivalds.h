#pragma once

#include <cstdint>
#include <string>

#include "bench/cpu/host_gemm.h"

namespace cb {

// Result of checking a product. For floats, `value` and `limit` are those of the row whose value is
// the largest share of its limit. For int8, `value` is the number of wrong rows and `limit` is 0.
struct ProductCheck {
  bool passed = false;
  double value = 0;  // |C·x - A·(B·x)| of that row; infinity if it is not a number
  double limit = 0;
  Said detail = {};  // the row and what was found in it; empty if passed
};

// Freivalds' check (MFCS 1979) that C = A·B without multiplying: compares C·x with A·(B·x) for
// `vectors` random vectors x, at 2·(MN + KN + MK) operations each. Floats: |x_j| in [1/2, 1],
// computed in fp64. The limit for row i and one vector is 8·u·‖a_i‖₂·‖B‖_F, where u is the unit
// roundoff of the sums (2^-53, 2^-24), and 4·2^-53·|A·(B·x)|_i for the roundings of the check.
// int8: integers modulo 2^64, exact; every row must agree. Why this limit: for data of zero mean
// the rounding error of one element stays within a small multiple of u·‖a_i‖₂·‖b_j‖₂ for any K
// (Higham & Mary, SIAM J. Sci. Comput. 42, 2020), and N such errors with random signs add up like
// √N. The factor 8 leaves about twenty standard deviations.
ProductCheck check_product(const GemmData& data, uint64_t seed, int vectors, Team& team);

// The first part of that limit, for one row.
double freivalds_limit(GemmType type, double norm_of_row, double norm_of_b);

}  // namespace cb
