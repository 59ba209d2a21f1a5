#include "bench/cpu/lu_panel.h"

#include <algorithm>
#include <cmath>

namespace cb {
namespace {

constexpr int64_t kNarrow = 4;       // columns below which the recursion ends
constexpr int64_t kSwapColumns = 8;  // columns whose rows are exchanged together

int64_t row_of_largest(const double* column, int64_t begin, int64_t rows) {
  int64_t best = begin;
  double largest = std::abs(column[begin]);
  for (int64_t i = begin + 1; i < rows; ++i) {
    const double value = std::abs(column[i]);
    if (value > largest || std::isnan(value)) {
      largest = value;
      best = i;
    }
  }
  return best;
}

// Column by column, with the updates of the columns to the right.
bool factor_narrow(const ColumnBlock& p, int64_t* pivots) {
  for (int64_t j = 0; j < p.columns; ++j) {
    double* mine = p.column(j);
    pivots[j] = row_of_largest(mine, j, p.rows);
    const double pivot = mine[pivots[j]];
    if (pivot == 0 || !std::isfinite(pivot)) return false;
    for (int64_t c = 0; c < p.columns; ++c) std::swap(p.column(c)[j], p.column(c)[pivots[j]]);
    const double scale = 1 / pivot;
    for (int64_t i = j + 1; i < p.rows; ++i) mine[i] *= scale;
    for (int64_t c = j + 1; c < p.columns; ++c) {
      double* other = p.column(c);
      const double factor = other[j];
      for (int64_t i = j + 1; i < p.rows; ++i) other[i] -= factor * mine[i];
    }
  }
  return true;
}

// C -= A·B, all with contiguous columns. In terms of contiguous rows this is Cᵀ -= Bᵀ·Aᵀ.
void subtract_product(const LuLibrary& library, const ColumnBlock& c, const double* a,
                      int64_t a_distance, const double* b, int64_t b_distance, int64_t inner) {
  if (c.rows == 0 || c.columns == 0) return;
  library.multiply({.shape = {c.columns, c.rows, inner},
                    .a = b,
                    .lda = b_distance,
                    .b = a,
                    .ldb = a_distance,
                    .c = c.data,
                    .ldc = c.distance,
                    .alpha = -1,
                    .beta = 1});
}

}  // namespace

void swap_rows(const ColumnBlock& block, const int64_t* pivots, int64_t count) {
  for (int64_t first = 0; first < block.columns; first += kSwapColumns) {
    const int64_t end = std::min(block.columns, first + kSwapColumns);
    for (int64_t j = 0; j < count; ++j) {
      if (pivots[j] == j) continue;
      for (int64_t c = first; c < end; ++c)
        std::swap(block.column(c)[j], block.column(c)[pivots[j]]);
    }
  }
}

void update_columns(const ColumnBlock& panel, int64_t width, const int64_t* pivots,
                    const ColumnBlock& right, const LuLibrary& library) {
  swap_rows(right, pivots, width);
  library.solve({.order = width,
                 .columns = right.columns,
                 .l = panel.data,
                 .ldl = panel.distance,
                 .b = right.data,
                 .ldb = right.distance});
  const ColumnBlock below{right.data + width, right.rows - width, right.columns, right.distance};
  subtract_product(library, below, panel.data + width, panel.distance, right.data, right.distance,
                   width);
}

bool factor_panel(const ColumnBlock& panel, const LuLibrary& library, int64_t* pivots) {
  if (panel.columns <= kNarrow) return factor_narrow(panel, pivots);
  const int64_t left = panel.columns / 2;
  const ColumnBlock first{panel.data, panel.rows, left, panel.distance};
  if (!factor_panel(first, library, pivots)) return false;
  const ColumnBlock right{panel.column(left), panel.rows, panel.columns - left, panel.distance};
  update_columns(first, left, pivots, right, library);
  const ColumnBlock rest{right.data + left, panel.rows - left, right.columns, panel.distance};
  if (!factor_panel(rest, library, pivots + left)) return false;
  const ColumnBlock under{panel.data + left, panel.rows - left, left, panel.distance};
  swap_rows(under, pivots + left, right.columns);
  for (int64_t j = left; j < panel.columns; ++j) pivots[j] += left;
  return true;
}

}  // namespace cb
