#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/cpu/memory.h"
#include "bench/cpu/team.h"
#include "sys/cpu/host_blas.h"

// Solves a dense system of linear equations as HPL does: blocked right-looking LU with row pivoting
// and one step of look-ahead, fp64, within one process. docs/methods/lu.md.
namespace cb {

// What LU needs of a library, each call on the calling thread alone.
struct LuLibrary {
  host_blas::MultiplyParts64 multiply;
  host_blas::SolveUnitLower solve;
};

// Bytes of [A|b].
int64_t lu_bytes(int64_t order);
// A block that keeps panels short and products long on this order.
int64_t lu_block(int64_t order);

// Half-open ranges of columns from `begin` to `end`, in the order in which threads take them: wide
// ones first, so that calls are few, narrow ones last, so that all threads end together. They
// depend on nothing else, so the result has the same bits however the threads take them.
std::vector<Range> lu_tiles(size_t begin, size_t end, int threads);

// [A|b] of order n, uniform in [-0.5, 0.5), column by column from seed and column.
class LinearSystem {
 public:
  LinearSystem(int64_t order, uint64_t seed, Team& team);

  int64_t order() const { return order_; }
  // Writes all elements, also where an earlier solve() has overwritten them.
  void fill(Team& team);
  // The solution x, in place of A and b. NaN in all of it if a pivot is zero or not finite. Calls
  // `moved` after each panel.
  std::vector<double> solve(int64_t block, const LuLibrary& library, Team& team,
                            const std::function<void()>& moved);
  // ‖A·x − b‖∞ / (ε·(‖A‖∞·‖x‖∞ + ‖b‖∞)·n) with ε = 2⁻⁵³, of elements that are made again. Below 16
  // is right (HPL 2.3). NaN if x has a NaN.
  double residual(const std::vector<double>& x, Team& team) const;

 private:
  void fill_column(int64_t column, double* to) const;
  double* column(int64_t j) const { return data_.get() + j * rows_; }

  int64_t order_ = 0;
  int64_t rows_ = 0;  // distance of columns: no multiple of a page, so that rows do not collide
  uint64_t seed_ = 0;
  Pages<double> data_;
};

}  // namespace cb
