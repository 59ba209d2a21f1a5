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

// Whether 16 bytes can be read at once from each row of x and w.
inline bool comes_by_16(const InferProduct& p) {
  const Index bytes = p.narrow ? 2 : 4;
  return stands_at_16(p.w, p.stride_w, bytes) &&
         stands_at_16(p.x, p.rows > 1 ? p.stride_x : 0, bytes);
}

inline unsigned blocks_for(Index pairs, Index each) {
  const Index blocks = (pairs + each - 1) / each;
  return static_cast<unsigned>(blocks < 65535 ? blocks : 65535);
}

}  // namespace cb::kernels::infer_detail
