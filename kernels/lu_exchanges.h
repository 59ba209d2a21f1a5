// What exchanges of rows, one after the other, come to. For kernels: `pivots` lie in shared memory.
#pragma once

#include <cstdint>

#include "kernels/launch.h"

namespace cb::kernels {

// The row whose elements get to `row` when row first + j is exchanged with row pivots[j], for j
// from 0 to count - 1.
__device__ inline std::int64_t lu_origin(std::int64_t row, const std::int64_t* pivots,
                                         std::int64_t first, int count) {
  for (int j = count - 1; j >= 0; --j) {
    const std::int64_t other = first + j, pivot = pivots[j];
    row = row == other ? pivot : row == pivot ? other : row;
  }
  return row;
}

// Whether pivots[j] is below the first `count` rows and no earlier exchange named it.
__device__ inline bool lu_named_first(int j, const std::int64_t* pivots, std::int64_t first,
                                      int count) {
  if (pivots[j] < first + count) return false;
  for (int earlier = 0; earlier < j; ++earlier)
    if (pivots[earlier] == pivots[j]) return false;
  return true;
}

}  // namespace cb::kernels
