#include "bench/cpu/cg_kernels.h"

namespace cb {
namespace {

double row_times(const SparseRows& a, int64_t row, const double* x) {
  double sum = 0;
  for (int64_t k = a.begin[row]; k < a.begin[row + 1]; ++k) sum += a.values[k] * x[a.columns[k]];
  return sum;
}

// The row's equation for its own element, with the others as they are now.
void relax(const SparseRows& a, int64_t row, const double* r, double* x) {
  double& mine = x[a.first + row];
  const double diagonal = a.diagonal[row];
  mine = (r[a.first + row] - row_times(a, row, x) + diagonal * mine) / diagonal;
}

}  // namespace

void multiply_rows(const SparseRows& a, const double* x, double* y) {
  for (int64_t i = 0; i < a.rows; ++i) y[a.first + i] = row_times(a, i, x);
}

void sweep_rows(const SparseRows& a, const double* r, double* x) {
  for (int64_t i = 0; i < a.rows; ++i) relax(a, i, r, x);
  for (int64_t i = a.rows - 1; i >= 0; --i) relax(a, i, r, x);
}

double dot_of(const double* x, const double* y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

void combine(double alpha, const double* x, double beta, const double* y, double* w,
             int64_t count) {
  for (int64_t i = 0; i < count; ++i) w[i] = alpha * x[i] + beta * y[i];
}

}  // namespace cb
