#pragma once

#include <cstdint>
#include <vector>

#include "bench/cpu/lu.h"

namespace cb {

// A part of a matrix whose columns are contiguous, `distance` elements apart.
struct ColumnBlock {
  double* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t distance = 0;

  double* column(int64_t j) const { return data + j * distance; }
};

// Factors P·panel = L·U in place, recursively, on this thread. pivots[j] is the row, counted from
// the panel's first, that was exchanged with row j. False if a pivot is zero or not finite.
bool factor_panel(const ColumnBlock& panel, const LuLibrary& library, int64_t* pivots);

// Exchanges rows j and pivots[j] for j = 0 … count-1, in this order.
void swap_rows(const ColumnBlock& block, const int64_t* pivots, int64_t count);

// What a factored panel of `width` columns does to columns to the right of it, which begin at the
// panel's first row: exchanges, triangular solution, product.
void update_columns(const ColumnBlock& panel, int64_t width, const int64_t* pivots,
                    const ColumnBlock& right, const LuLibrary& library);

}  // namespace cb
