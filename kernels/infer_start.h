// Which kernel takes a product of few rows. An Ending has pair(n), the n-th two rows of the
// weights, and put(row, pair, low, high), what one thread does with their sums for a row of x.
#pragma once

#include "kernels/infer_rows.h"
#include "kernels/infer_tiles.h"

namespace cb::kernels::infer_detail {

template <typename Ending>
int start_product(const InferProduct& p, Index pairs, const Ending& ending, void* stream) {
  if (p.rows == 0 || pairs == 0) return cudaSuccess;
  if (!infer_takes(p)) return cudaErrorInvalidValue;
  if (infer_tiles_take(p)) return start_tiles(p, pairs, ending, stream);
  if (p.narrow) return start_rows<8, true>(p, pairs, ending, stream);
  if (p.rows == 1) return start_rows<1, false>(p, pairs, ending, stream);
  if (p.rows == 2) return start_rows<2, false>(p, pairs, ending, stream);
  if (p.rows <= 4) return start_rows<4, false>(p, pairs, ending, stream);
  return start_rows<8, false>(p, pairs, ending, stream);
}

// Neighbours. The last two may be one row.
struct Neighbours {
  Index outputs;
  __device__ Pair pair(Index n) const { return {2 * n, min(2 * n + 1, outputs - 1)}; }
  Index pairs() const { return (outputs + 1) / 2; }
};

}  // namespace cb::kernels::infer_detail
