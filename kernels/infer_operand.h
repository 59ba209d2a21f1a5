// What kernels of products of few rows share. Device code of infer_rows.h and infer_tiles.h.
#pragma once

#include "kernels/block_sums.h"
#include "kernels/infer.h"
#include "kernels/launch.h"
#include "kernels/sixteen_bytes.h"

namespace cb::kernels::infer_detail {

using Index = std::int64_t;

constexpr unsigned product_warps = block_threads / 32;

// Two rows of the weights, whose sums one thread has in the end. They may be the same row.
struct Pair {
  Index low, high;
};

inline unsigned blocks_for(Index pairs, Index each) {
  const Index blocks = (pairs + each - 1) / each;
  return static_cast<unsigned>(blocks < 65535 ? blocks : 65535);
}

}  // namespace cb::kernels::infer_detail
