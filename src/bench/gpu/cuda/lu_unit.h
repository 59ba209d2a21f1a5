#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/gpu/cuda/device_items.h"
#include "bench/gpu/cuda/paced_queue.h"
#include "bench/gpu/cuda/session.h"
#include "kernels/lu.h"
#include "sys/gpu/cuda/products.h"

namespace cb {

// [A|b] on one GPU and its factoring: blocked, right-looking, with row pivoting and one step of
// look-ahead. Panels are factored on a stream of their own, beside the stream that updates what is
// to the right of them. docs/methods/gpu-lu-cg.md.
class LuUnit {
 public:
  // Throws OutOfMemory if the GPU has too little. A wait of more than `hang_seconds` is a hang.
  LuUnit(const cublaslt::Library& library, const GpuUnit& unit, int64_t order, int64_t block,
         uint64_t seed, double hang_seconds);

  int64_t steps() const { return (order_ + block_ - 1) / block_; }

  // Makes all elements, and waits.
  void fill();
  // A solution, in the order of these calls: start() factors the first panel, each of steps() calls
  // of step() applies a panel to what is right of it and factors the next one; finish() solves with
  // what was factored, waits, and returns the seconds since start() by the device's clock. They
  // queue, and wait only where too many launches are queued.
  void start();
  void step();
  double finish();
  std::vector<double> solution();
  // HPL's scaled residual of that solution, of elements that are made again; NaN if a pivot was
  // zero or not finite. `spoilt`: an element of the solution is changed first.
  double residual(bool spoilt);

  // The first and largest update, and the best rate at which this GPU computes such a product, of a
  // few. The elements of the matrix are overwritten. 0 if the first panel is all of the matrix.
  cublaslt::RowMajorProduct64 largest_update() const;
  double product_rate();
  std::string units() { return products_.units(largest_update()); }

 private:
  // What a panel leaves for the updates. The next panel has another set: both are in use at once.
  struct Factored {
    explicit Factored(int64_t block)
        : pivots(block), inverse(block * block), from(block), to(block), with(block) {}
    DeviceItems<int64_t> pivots;
    DeviceItems<double> inverse;  // of the triangle on the panel's diagonal
    DeviceItems<int64_t> from, to, with;
    cuda::Event done;
    kernels::LuMoves moves() const { return {from.at(), to.at(), with.at()}; }
  };

  double* at(int64_t row, int64_t column) const { return matrix_.at(column * distance_ + row); }
  int64_t width_at(int64_t k) const { return std::min(block_, order_ - k); }
  Factored& set_of(int64_t k) { return factored_[static_cast<size_t>(k / block_ % 2)]; }
  void factor_panel(int64_t k);
  void factor(const kernels::LuPanel& panel, int64_t begin, int64_t end);
  void update(int64_t k, int64_t column, int64_t columns);
  std::vector<double> fetched(const double* from);
  void multiply_on_panel(const cublaslt::RowMajorProduct64& product);
  void multiply(const cublaslt::RowMajorProduct64& product);

  int ordinal_;
  int64_t order_, block_, distance_;
  uint64_t seed_;
  int64_t next_ = 0;  // the panel that step() applies
  cublaslt::Products products_, panel_products_;
  PacedQueue updates_, panels_;
  cuda::Event begun_, ready_, ended_;
  DeviceItems<double> matrix_, exchanged_;
  std::array<Factored, 2> factored_;
  DeviceItems<kernels::LuSpace> space_{1};
  DeviceItems<int32_t> irregular_{1};
  DeviceItems<double> parts_, product_, sums_;
};

}  // namespace cb
