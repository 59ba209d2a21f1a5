#include "model/hpcg.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("non-zeros, operations and bytes of an iteration") {
  CHECK(cg_nonzeros(2) == 64);
  CHECK(cg_nonzeros(16) == 97336);  // 46³
  // 12·4096 + 2·97336 + 10·(97336 + 10648 + 1000) + 4·64
  CHECK(cg_operations(16) == 1333920);
  // HPCG counts about 374 for each row of a large cube: 12 + 54 + 270·(1 + 1/8 + 1/64) + 108/512.
  const double edge = 8000;
  CHECK(cg_operations(8000) / (edge * edge * edge) == doctest::Approx(374.18).epsilon(0.001));
  // Of the finest level 6 passes of the matrix and 32 moves of a vector; below 5 and 15; last 2
  // and 6.
  CHECK(cg_bytes(16) == 12.0 * (6 * 97336 + 5 * (10648 + 1000) + 2 * 64) +
                            8.0 * (32 * 4096 + 15 * (512 + 64) + 6 * 8));
}
