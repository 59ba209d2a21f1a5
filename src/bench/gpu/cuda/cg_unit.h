#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/gpu/cuda/device_items.h"
#include "bench/gpu/cuda/paced_queue.h"
#include "bench/gpu/cuda/session.h"
#include "kernels/cg.h"
#include "model/hpcg.h"

namespace cb {

// Bytes that a cube takes on a GPU.
int64_t gpu_cg_bytes(int64_t edge);

// HPCG's problem on one GPU: the operator as a matrix of 27 entries a row, conjugate gradients, and
// the V-cycle of HPCG, whose sweeps go over eight colours of points. docs/methods/gpu-lu-cg.md.
class CgUnit {
 public:
  // `edge`: a multiple of 8, 16 at least. Throws OutOfMemory if the GPU has too little. A wait of
  // more than `hang_seconds` is a hang.
  CgUnit(const GpuUnit& unit, int64_t edge, double hang_seconds);

  // A set of iterations from x = 0: begin(), iterate() again and again, end(). They queue; end()
  // waits, and returns the seconds since begin() by the device's clock.
  void begin();
  void iterate(bool preconditioned = true);
  double end();
  // Of the set so far: ‖b − A·x‖₂ / ‖b‖₂ as the recursion has it, and the same from x and the
  // operator's definition, without the matrix. `spoilt`: an element of x is changed first.
  double residual();
  double true_residual(bool spoilt = false);
  std::vector<double> solution();

  // The departure from xᵀ·(My) = yᵀ·(Mx) of operator and preconditioner, for random x and y, in
  // units of ε·√n·(‖x‖·‖My‖ + ‖y‖·‖Mx‖): about what rounding of sums of n terms with random signs
  // gives.
  struct Departures {
    double product = 0, cycle = 0;
  };
  Departures departures(uint64_t seed);

  // The best rate, of a few, at which this GPU reads the finest matrix's values.
  double read_rate();

 private:
  // One cube of the V-cycle.
  struct Level {
    explicit Level(int64_t edge);
    kernels::CgCube cube;
    DeviceItems<double> values;
    DeviceItems<int32_t> columns;
    DeviceItems<double> residual, product, correction;
    kernels::CgMatrix matrix() const { return {cube, values.at(), columns.at()}; }
  };

  int64_t points() const { return levels_[0].cube.all(); }
  void cycle(size_t level, const double* r, double* x);
  void multiply(const double* x, double* y);
  void dot(const double* x, const double* y, kernels::CgSum sum);
  void update(const double* x, kernels::CgFactor factor, const double* y, double* w);
  void clear(double* x, int64_t count);
  double norm(const double* x);
  double product_of(const double* x, const double* y);
  double departure(const double* x, const double* y, const double* mx, const double* my);

  int ordinal_;
  PacedQueue queue_;
  cuda::Event begun_, ended_;
  std::vector<Level> levels_;
  DeviceItems<double> b_, x_, r_, z_, p_, ap_;
  DeviceItems<double> parts_{kernels::cg_parts};
  DeviceItems<kernels::CgScalars> scalars_{1};
  DeviceItems<uint64_t> sum_{1};
  double norm_b_ = 0;
  bool first_ = true;  // of a set
};

}  // namespace cb
