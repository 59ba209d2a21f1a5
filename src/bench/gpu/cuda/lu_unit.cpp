#include "bench/gpu/cuda/lu_unit.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bench/gpu/cuda/flip.h"
#include "bench/gpu/lu_plan.h"
#include "model/hpl.h"

namespace cb {
namespace {

constexpr int kProductTries = 3;

// C += sign·A·B of contiguous columns, in terms of contiguous rows: Cᵀ += sign·Bᵀ·Aᵀ.
struct ColumnProduct {
  int64_t rows = 0, columns = 0, inner = 0;
  const double* a = nullptr;
  int64_t lda = 0;
  const double* b = nullptr;
  int64_t ldb = 0;
  double* c = nullptr;
  int64_t ldc = 0;
};
cublaslt::RowMajorProduct64 transposed(const ColumnProduct& p, double alpha, double beta) {
  return {.m = p.columns,
          .n = p.rows,
          .k = p.inner,
          .a = p.b,
          .lda = p.ldb,
          .b = p.a,
          .ldb = p.lda,
          .c = p.c,
          .ldc = p.ldc,
          .alpha = alpha,
          .beta = beta};
}

}  // namespace

// Each stream has products of its own: what one of them computes needs room that the other must not
// share. The panels' kernels are small and follow one another: without priority each would wait for
// all blocks of the update that was queued before it.
LuUnit::LuUnit(const cublaslt::Library& library, const GpuUnit& unit, int64_t order, int64_t block,
               uint64_t seed, double hang_seconds)
    : ordinal_(selected(unit)),
      order_(order),
      block_(std::min(block, order)),
      distance_(gpu_lu_distance(order)),
      seed_(seed),
      products_(library),
      panel_products_(library),
      updates_(hang_seconds, fmt::format("LU of order {}", order)),
      panels_(hang_seconds, fmt::format("LU of order {}", order), cuda::Priority::high),
      matrix_(distance_ * (order + 1)),
      exchanged_(block_ * (order + 1)),
      factored_{Factored(block_), Factored(block_)},
      parts_(2 * kernels::lu_residual_parts * order),
      product_(order),
      sums_(order) {}

void LuUnit::multiply(const cublaslt::RowMajorProduct64& product) {
  if (product.n == 0) return;
  products_.run(product, updates_.stream());
  updates_.counted(1);
}
void LuUnit::multiply_on_panel(const cublaslt::RowMajorProduct64& product) {
  if (product.n == 0) return;
  panel_products_.run(product, panels_.stream());
  panels_.counted(1);
}

void LuUnit::fill() {
  cuda::select(ordinal_);
  cuda::zero(irregular_.at(), sizeof(int32_t), updates_.stream());
  cuda::zero(space_.at(), sizeof(kernels::LuSpace), updates_.stream());
  updates_.launched(
      kernels::launch_lu_fill(matrix_.at(), distance_, order_, seed_, updates_.handle()),
      "lu_fill");
  updates_.wait();
}

void LuUnit::start() {
  cuda::select(ordinal_);
  next_ = 0;
  begun_.record(updates_.stream());
  begun_.hold(panels_.stream());
  factor_panel(0);
}

// The rest is queued before the next panel: the host may have to wait while it queues that one.
void LuUnit::step() {
  cuda::select(ordinal_);
  const int64_t k = next_, right = k + width_at(k);
  const int64_t ahead = width_at(right);
  set_of(k).done.hold(updates_.stream());
  if (ahead > 0) update(k, right, ahead);
  ready_.record(updates_.stream());
  update(k, right + ahead, order_ + 1 - right - ahead);
  next_ = right;
  if (ahead == 0) return;
  ready_.hold(panels_.stream());
  factor_panel(right);
}

double LuUnit::finish() {
  cuda::select(ordinal_);
  for (int64_t end = order_; end > 0;) {
    const int64_t begin = (end - 1) / block_ * block_;
    updates_.launched(kernels::launch_lu_back({matrix_.at(), distance_, begin, end, at(0, order_)},
                                              updates_.handle()),
                      "lu_back", 2);
    end = begin;
  }
  ended_.record(updates_.stream());
  updates_.wait();
  panels_.wait();
  return ended_.seconds_since(begun_);
}

void LuUnit::factor_panel(int64_t k) {
  Factored& to = set_of(k);
  const int64_t width = width_at(k);
  const kernels::LuPanel panel{at(k, k),       distance_,   order_ - k,     width,
                               to.pivots.at(), space_.at(), irregular_.at()};
  factor(panel, 0, width);
  panels_.launched(
      kernels::launch_lu_solve({at(k, k), distance_, width, to.inverse.at(), width, width}, true,
                               panels_.handle()),
      "lu_solve");
  panels_.launched(kernels::launch_lu_plan(to.pivots.at(), width, to.moves(), panels_.handle()),
                   "lu_plan");
  to.done.record(panels_.stream());
}

// The left half, what it does to the right half, the right half. Rows are exchanged in both.
void LuUnit::factor(const kernels::LuPanel& p, int64_t begin, int64_t end) {
  constexpr int64_t narrow = kernels::lu_narrow;
  if (end - begin <= narrow)
    return panels_.launched(kernels::launch_lu_narrow(p, begin, end, panels_.handle()), "lu_narrow",
                            kernels::lu_narrow_launches(end - begin));
  const int64_t middle = begin + ((end - begin) / 2 + narrow - 1) / narrow * narrow;
  const auto element = [&](int64_t row, int64_t column) { return p.a + column * p.ld + row; };
  factor(p, begin, middle);
  panels_.launched(kernels::launch_lu_solve({element(begin, begin), p.ld, middle - begin,
                                             element(begin, middle), p.ld, end - middle},
                                            false, panels_.handle()),
                   "lu_solve");
  multiply_on_panel(transposed({.rows = p.rows - middle,
                                .columns = end - middle,
                                .inner = middle - begin,
                                .a = element(middle, begin),
                                .lda = p.ld,
                                .b = element(begin, middle),
                                .ldb = p.ld,
                                .c = element(middle, middle),
                                .ldc = p.ld},
                               -1, 1));
  factor(p, middle, end);
}

// The rows that a column exchanges leave the matrix and come back multiplied by the triangle's
// inverse: so the product's result is no operand of it.
void LuUnit::update(int64_t k, int64_t column, int64_t columns) {
  if (columns == 0) return;
  const Factored& panel = set_of(k);
  const int64_t width = width_at(k), below = k + width;
  updates_.launched(kernels::launch_lu_move(
                        {at(k, column), distance_, columns, width, exchanged_.at(), panel.moves()},
                        updates_.handle()),
                    "lu_move");
  multiply(transposed({.rows = width,
                       .columns = columns,
                       .inner = width,
                       .a = panel.inverse.at(),
                       .lda = width,
                       .b = exchanged_.at(),
                       .ldb = width,
                       .c = at(k, column),
                       .ldc = distance_},
                      1, 0));
  multiply(transposed({.rows = order_ - below,
                       .columns = columns,
                       .inner = width,
                       .a = at(below, k),
                       .lda = distance_,
                       .b = at(k, column),
                       .ldb = distance_,
                       .c = at(below, column),
                       .ldc = distance_},
                      -1, 1));
}

std::vector<double> LuUnit::fetched(const double* from) {
  std::vector<double> out(static_cast<size_t>(order_));
  updates_.fetch(out.data(), from, out.size() * sizeof(double));
  return out;
}

std::vector<double> LuUnit::solution() {
  cuda::select(ordinal_);
  return fetched(at(0, order_));
}

double LuUnit::residual(bool spoilt) {
  cuda::select(ordinal_);
  if (spoilt)
    flip_on_device(reinterpret_cast<std::byte*>(at(order_ / 2, order_)) + 7, 0x40,
                   updates_.stream());
  updates_.launched(kernels::launch_lu_residual(
                        {at(0, order_), order_, seed_, parts_.at(), product_.at(), sums_.at()},
                        updates_.handle()),
                    "lu_residual", 2);
  int32_t irregular = 0;
  updates_.fetch(&irregular, irregular_.at(), sizeof irregular);
  if (irregular != 0) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> b(static_cast<size_t>(order_));
  const uint64_t column = kernels::lu_column_seed(order_, seed_);
  for (size_t i = 0; i < b.size(); ++i) b[i] = kernels::lu_element(static_cast<int64_t>(i), column);
  return hpl_residual({.product = fetched(product_.at()),
                       .sums = fetched(sums_.at()),
                       .b = b,
                       .x = fetched(at(0, order_))});
}

cublaslt::RowMajorProduct64 LuUnit::largest_update() const {
  return transposed({.rows = order_ - block_,
                     .columns = order_ + 1 - block_,
                     .inner = block_,
                     .a = at(block_, 0),
                     .lda = distance_,
                     .b = at(0, block_),
                     .ldb = distance_,
                     .c = at(block_, block_),
                     .ldc = distance_},
                    -1, 1);
}

double LuUnit::product_rate() {
  cuda::select(ordinal_);
  const cublaslt::RowMajorProduct64 product = largest_update();
  if (product.n == 0) return 0;
  double best = 0;
  for (int i = 0; i < kProductTries; ++i) {
    begun_.record(updates_.stream());
    multiply(product);
    ended_.record(updates_.stream());
    updates_.wait();
    const double operations = 2.0 * static_cast<double>(product.m) *
                              static_cast<double>(product.n) * static_cast<double>(product.k);
    best = std::max(best, operations / ended_.seconds_since(begun_));
  }
  return best;
}

}  // namespace cb
