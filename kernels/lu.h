// What LU with row pivoting needs on a GPU besides matrix products, in fp64. Columns are contiguous
// and `ld` elements apart. Every sum and every choice of a pivot is the same in any order of
// threads, so a factoring repeats bit by bit. A NaN that goes in comes out.
#pragma once

#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

// Element (row, column) of [A|b]: uniform in [-0.5, 0.5). The same bits as bench/cpu/lu.h has.
CB_HOST_DEVICE constexpr std::uint64_t lu_column_seed(std::int64_t column, std::uint64_t seed) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  const std::uint64_t stream = pattern_word(0, seed + 1 - golden);
  return pattern_word(0, (stream ^ (static_cast<std::uint64_t>(column) + 1)) - golden);
}
CB_HOST_DEVICE inline double lu_element(std::int64_t row, std::uint64_t column_seed) {
  return static_cast<double>(pattern_word(static_cast<std::uint64_t>(row), column_seed) >> 11) *
             0x1p-53 -
         0.5;
}

// Writes order rows of order + 1 columns: A, and b behind it.
int launch_lu_fill(double* a, std::int64_t ld, std::int64_t order, std::uint64_t seed,
                   void* stream);

inline constexpr std::int64_t lu_most_block = 1024;  // columns of a panel
inline constexpr std::int64_t lu_narrow = 16;        // columns that are factored one by one
inline constexpr unsigned lu_most_picks = 256;       // blocks that look for a pivot

// The largest element that a block saw; the lowest row of those that are equal.
struct LuPick {
  double size;  // infinite for what is not a number
  std::int64_t row;
};

// The row that a block proposes as the pivot, or the one that the pivot replaces, with its elements
// in the columns that are factored together.
struct alignas(16) LuCandidate {
  LuPick pick;
  double elements[lu_narrow];
};
// Through which the blocks that factor a panel hear of each other. Zero before the first launch;
// every launch leaves it fit for the next one of its stream.
struct LuSpace {
  LuPick picks[lu_most_picks];
  std::uint64_t columns;  // that were factored so far, of all panels
  // Of each block, and at the end of the row that is replaced: what it has told, by that count.
  std::uint64_t turns[lu_most_picks + 1];
  LuCandidate candidates[2][lu_most_picks + 1];
};

// A panel of `columns` columns while it is factored. Rows are counted from its first.
struct LuPanel {
  double* a;  // the element on the diagonal in its first column
  std::int64_t ld, rows, columns;
  std::int64_t* pivots;  // of each column: the row that was exchanged with it
  LuSpace* space;
  std::int32_t* irregular;  // set where a pivot is zero or not finite
};
// Factors columns begin … end of the panel, at most lu_narrow, in place. Rows are exchanged in all
// columns of the panel. Queues at most lu_narrow_launches(end − begin) launches: one where the
// device holds these columns in registers, 1,024 rows a block.
int launch_lu_narrow(const LuPanel& panel, std::int64_t begin, std::int64_t end, void* stream);
constexpr int lu_narrow_launches(std::int64_t columns) { return 1 + 2 * static_cast<int>(columns); }

// Solves L·X = B in place of B. L is unit lower triangular, of at most lu_most_block rows; what is
// on its diagonal and above is not read. With `invert`, B is written only: it becomes L's inverse.
struct LuTriangle {
  const double* l;
  std::int64_t ldl, order;
  double* b;
  std::int64_t ldb, columns;
};
int launch_lu_solve(const LuTriangle& t, bool invert, void* stream);

// What the exchanges of `count` pivots, one after the other, come to. Row from[j] gets to row j;
// row with[j], one of the first `count`, gets to row to[j], which is below those, unless to[j] < 0.
struct LuMoves {
  std::int64_t *from, *to, *with;
};
int launch_lu_plan(const std::int64_t* pivots, std::int64_t count, const LuMoves& moves,
                   void* stream);

// Applies them to `columns` columns, which begin at the panel's first row. What gets to the first
// `count` rows goes to `top`, whose columns are contiguous; these rows themselves are left alone.
struct LuExchange {
  double* a;
  std::int64_t ld, columns, count;
  double* top;
  LuMoves moves;
};
int launch_lu_move(const LuExchange& e, void* stream);

// Solves U·x = y for the rows and columns begin … end, in place of y, and takes what they
// contribute from all rows above. U begins at `u`.
struct LuBack {
  const double* u;
  std::int64_t ld, begin, end;
  double* y;
};
int launch_lu_back(const LuBack& b, void* stream);

// product = A·x and sums = the absolute values of each row, of elements that are made again.
// `parts`: room for lu_residual_parts·2·order numbers.
struct LuResidual {
  const double* x;
  std::int64_t order;
  std::uint64_t seed;
  double *parts, *product, *sums;
};
inline constexpr std::int64_t lu_residual_parts = 16;
int launch_lu_residual(const LuResidual& r, void* stream);

}  // namespace cb::kernels
