// The loops of a training step over rows of host memory: what is no large matrix product. Each
// works on the range that one thread was given. All matrices are row-major.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sys/cpu/host_blas.h"

namespace cb::training {

// Constants of AdamW (Loshchilov & Hutter, arXiv 1711.05101) at one step.
struct AdamStep {
  double rate = 0;  // learning rate
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double decay = 0;        // weight decay
  double correction1 = 1;  // 1 − β1^step
  double correction2 = 1;  // 1 − β2^step
  double scale = 1;        // of the gradient: clipping
};

// Rows [first, first + rows) of one head's scores, of which row i sees columns 0…i.
struct ScoreBlock {
  int64_t first = 0;
  int64_t rows = 0;
  int64_t columns = 0;  // computed, and the distance between rows
};

template <typename Real>
struct RowKernels {
  const char* isa;

  // C = alpha·op(A)·op(B) + beta·C on the calling thread. C is not read where beta is 0.
  void (*product)(const host_blas::Product<Real>&);
  // C = alpha·A·Bᵀ for few rows of A: reads B once, row by row, and packs nothing. A row of C
  // depends on its row of A and on B alone.
  void (*few_rows)(const host_blas::Product<Real>&);

  // y = x·gain/√(mean(x²) + 1e-5); keeps 1/√… of each row in `scale` (Zhang & Sennrich,
  // arXiv 1910.07467).
  void (*rmsnorm)(const Real* x, const Real* gain, Real* y, Real* scale, int64_t rows,
                  int64_t width);
  // Adds to dx and to dgain.
  void (*rmsnorm_backward)(const Real* dy, const Real* x, const Real* gain, const Real* scale,
                           Real* dx, Real* dgain, int64_t rows, int64_t width);
  // Turns each pair (i, i + dim/2) of `heads` neighbouring heads by the angle of the row's
  // position; direction −1 turns back (Su et al., arXiv 2104.09864). cosines and sines: dim/2 a
  // position. Rows are `stride` apart; row r has position (first + r) mod `sequence`.
  void (*rotate)(Real* x, const Real* cosines, const Real* sines, int64_t rows, int64_t first,
                 int64_t sequence, int64_t heads, int64_t dim, int64_t stride, Real direction);

  // Scores become probabilities; log_sums[row] = log Σ exp(score). Columns beyond the diagonal
  // become 0.
  void (*softmax)(Real* scores, Real* log_sums, const ScoreBlock&);
  // Probabilities from scores and the log sums that softmax gave.
  void (*probabilities)(Real* scores, const Real* log_sums, const ScoreBlock&);
  // dp becomes p·(dp − dots[row])·scale; beyond the diagonal 0.
  void (*softmax_backward)(Real* dp, const Real* p, const Real* dots, Real scale,
                           const ScoreBlock&);
  // dots[row] = Σ a·b over one head's columns; rows of a and b are `stride` apart.
  void (*row_dots)(const Real* a, const Real* b, Real* dots, int64_t rows, int64_t width,
                   int64_t stride);

  // A row of gate_up is gate, then up, `width` each. out = gate·sigmoid(gate)·up (Shazeer,
  // arXiv 2002.05202).
  void (*swiglu)(const Real* gate_up, Real* out, int64_t rows, int64_t width);
  // gate_up becomes its own gradient.
  void (*swiglu_backward)(const Real* dout, Real* gate_up, int64_t rows, int64_t width);

  void (*row_max)(const Real* x, Real* out, int64_t rows, int64_t width);
  // x becomes exp(x − max); sums[row] is their sum.
  void (*exponentials)(Real* x, const Real* max, Real* sums, int64_t rows, int64_t width);
  void (*scale_rows)(Real* x, const Real* factors, int64_t rows, int64_t width);

  void (*add)(Real* to, const Real* from, int64_t count);
  // The gradient is left as it is.
  void (*adamw)(Real* weights, const Real* gradient, Real* mean, Real* square, int64_t count,
                const AdamStep&);
  double (*sum_squares)(const Real* x, int64_t count);
  int64_t (*not_finite)(const Real* x, int64_t count);
};

// The fastest that this processor runs.
const RowKernels<float>& row_kernels_of(float);
// Without special instructions, for gradients by differences.
const RowKernels<double>& row_kernels_of(double);

// One table per instruction set; null where the build's architecture has none of it.
const RowKernels<float>* generic_kernels();
const RowKernels<double>* generic_double_kernels();
const RowKernels<float>* avx2_kernels();
const RowKernels<float>* avx512_kernels();

}  // namespace cb::training
