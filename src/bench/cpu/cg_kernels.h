#pragma once

#include <cstdint>

// The loops of a conjugate gradient solution over one thread's rows.
namespace cb {

// Rows of a sparse matrix. Columns are places in the thread's vectors, which have one plane of the
// neighbour below before the own rows and one of the neighbour above behind them.
struct SparseRows {
  int64_t rows = 0;
  int64_t first = 0;               // place of the first own row in a vector
  const int64_t* begin = nullptr;  // rows + 1 indices into values and columns
  const double* values = nullptr;
  const int32_t* columns = nullptr;
  const double* diagonal = nullptr;  // of each row
};

// y = A·x
void multiply_rows(const SparseRows& a, const double* x, double* y);
// Gauss-Seidel, x towards A·x = r: rows upwards, then downwards.
void sweep_rows(const SparseRows& a, const double* r, double* x);

double dot_of(const double* x, const double* y, int64_t count);
// w = alpha·x + beta·y; w may be x or y.
void combine(double alpha, const double* x, double beta, const double* y, double* w, int64_t count);

}  // namespace cb
