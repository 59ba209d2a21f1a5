#include "bench/gpu/cuda/cg_unit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/gpu/cuda/flip.h"
#include "kernels/stream.h"

namespace cb {
namespace {

using kernels::CgFactor;
using kernels::CgSum;

constexpr int kReads = 5;
constexpr int64_t kEntryBytes = sizeof(double) + sizeof(int32_t);

}  // namespace

int64_t gpu_cg_bytes(int64_t edge) {
  const auto points = [&](int level) {
    const int64_t e = edge >> level;
    return e * e * e;
  };
  int64_t out = 6 * 8 * points(0);
  for (int level = 0; level < kCgLevels; ++level)
    out += (kernels::cg_entries * kEntryBytes + 3 * 8) * points(level);
  return out + 8 * kernels::cg_parts;
}

CgUnit::Level::Level(int64_t edge)
    : cube{edge},
      values(kernels::cg_entries * cube.all()),
      columns(kernels::cg_entries * cube.all()),
      residual(cube.all()),
      product(cube.all()),
      correction(cube.all()) {}

CgUnit::CgUnit(const GpuUnit& unit, int64_t edge, double hang_seconds)
    : ordinal_(selected(unit)),
      queue_(hang_seconds, fmt::format("CG on a cube of edge {}", edge)),
      b_(edge * edge * edge),
      x_(edge * edge * edge),
      r_(edge * edge * edge),
      z_(edge * edge * edge),
      p_(edge * edge * edge),
      ap_(edge * edge * edge) {
  for (int level = 0; level < kCgLevels; ++level) levels_.emplace_back(edge >> level);
  for (const Level& level : levels_)
    queue_.launched(kernels::launch_cg_build(level.matrix(), queue_.handle()), "cg_build");
  cuda::zero(scalars_.at(), sizeof(kernels::CgScalars), queue_.stream());
  // The right-hand side is the sum of each row: the solution is 1 everywhere.
  queue_.launched(kernels::launch_cg_set(x_.at(), points(), 1, queue_.handle()), "cg_set");
  multiply(x_.at(), b_.at());
  norm_b_ = norm(b_.at());
}

void CgUnit::multiply(const double* x, double* y) {
  queue_.launched(kernels::launch_cg_multiply(levels_[0].matrix(), x, y, queue_.handle()),
                  "cg_multiply");
}

void CgUnit::dot(const double* x, const double* y, CgSum sum) {
  queue_.launched(
      kernels::launch_cg_dot({x, y, points(), parts_.at(), scalars_.at()}, sum, queue_.handle()),
      "cg_dot", 2);
}

void CgUnit::update(const double* x, CgFactor factor, const double* y, double* w) {
  queue_.launched(
      kernels::launch_cg_update({x, y, w, points(), scalars_.at()}, factor, queue_.handle()),
      "cg_update");
}

void CgUnit::clear(double* x, int64_t count) {
  cuda::zero(x, static_cast<size_t>(count) * sizeof(double), queue_.stream());
  queue_.counted(1);
}

void CgUnit::cycle(size_t level, const double* r, double* x) {
  const Level& own = levels_[level];
  const auto sweep = [&] {
    queue_.launched(kernels::launch_cg_sweep(own.matrix(), r, x, queue_.handle()), "cg_sweep",
                    kernels::cg_sweep_launches);
  };
  clear(x, own.cube.all());
  sweep();
  if (level + 1 == levels_.size()) return;
  const Level& below = levels_[level + 1];
  queue_.launched(kernels::launch_cg_multiply(own.matrix(), x, own.product.at(), queue_.handle()),
                  "cg_multiply");
  const kernels::CgCoarsening to{below.cube,          r, own.product.at(),
                                 below.residual.at(), x, below.correction.at()};
  queue_.launched(kernels::launch_cg_restrict(to, queue_.handle()), "cg_restrict");
  cycle(level + 1, below.residual.at(), below.correction.at());
  queue_.launched(kernels::launch_cg_prolong(to, queue_.handle()), "cg_prolong");
  sweep();
}

void CgUnit::begin() {
  cuda::select(ordinal_);
  clear(x_.at(), points());
  clear(p_.at(), points());
  update(b_.at(), CgFactor::one, x_.at(), r_.at());
  first_ = true;
  begun_.record(queue_.stream());
}

void CgUnit::iterate(bool preconditioned) {
  cuda::select(ordinal_);
  if (preconditioned) cycle(0, r_.at(), z_.at());
  const double* z = preconditioned ? z_.at() : r_.at();
  dot(r_.at(), z, first_ ? CgSum::first_rz : CgSum::rz);
  first_ = false;
  update(z, CgFactor::beta, p_.at(), p_.at());
  multiply(p_.at(), ap_.at());
  dot(p_.at(), ap_.at(), CgSum::alpha);
  update(x_.at(), CgFactor::alpha, p_.at(), x_.at());
  update(r_.at(), CgFactor::minus_alpha, ap_.at(), r_.at());
  dot(r_.at(), r_.at(), CgSum::rr);
}

double CgUnit::end() {
  cuda::select(ordinal_);
  ended_.record(queue_.stream());
  queue_.wait();
  return ended_.seconds_since(begun_);
}

double CgUnit::residual() {
  cuda::select(ordinal_);
  kernels::CgScalars scalars{};
  queue_.fetch(&scalars, scalars_.at(), sizeof scalars);
  return std::sqrt(scalars.rr) / norm_b_;
}

// In z, which the next iteration writes anew: the set may go on.
double CgUnit::true_residual(bool spoilt) {
  cuda::select(ordinal_);
  if (spoilt)
    flip_on_device(reinterpret_cast<std::byte*>(x_.at(points() / 2)) + 6, 0x10, queue_.stream());
  queue_.launched(kernels::launch_cg_defect(levels_[0].cube, x_.at(), z_.at(), queue_.handle()),
                  "cg_defect");
  return norm(z_.at()) / norm_b_;
}

std::vector<double> CgUnit::solution() {
  cuda::select(ordinal_);
  std::vector<double> out(static_cast<size_t>(points()));
  queue_.fetch(out.data(), x_.at(), out.size() * sizeof(double));
  return out;
}

double CgUnit::product_of(const double* x, const double* y) {
  dot(x, y, CgSum::dot);
  kernels::CgScalars scalars{};
  queue_.fetch(&scalars, scalars_.at(), sizeof scalars);
  return scalars.dot;
}

double CgUnit::norm(const double* x) { return std::sqrt(product_of(x, x)); }

double CgUnit::departure(const double* x, const double* y, const double* mx, const double* my) {
  return std::abs(product_of(x, my) - product_of(y, mx)) /
         (0x1p-53 * std::sqrt(static_cast<double>(points())) *
          (norm(x) * norm(my) + norm(y) * norm(mx)));
}

CgUnit::Departures CgUnit::departures(uint64_t seed) {
  cuda::select(ordinal_);
  double *x = x_.at(), *y = r_.at(), *mx = z_.at(), *my = ap_.at();
  queue_.launched(kernels::launch_cg_random(x, points(), seed + 1, queue_.handle()), "cg_random");
  queue_.launched(kernels::launch_cg_random(y, points(), seed + 2, queue_.handle()), "cg_random");
  multiply(x, mx);
  multiply(y, my);
  Departures out{.product = departure(x, y, mx, my)};
  cycle(0, x, mx);
  cycle(0, y, my);
  out.cycle = departure(x, y, mx, my);
  return out;
}

double CgUnit::read_rate() {
  cuda::select(ordinal_);
  const auto bytes = static_cast<size_t>(kernels::cg_entries * points()) * sizeof(double);
  double best = 0;
  for (int i = 0; i < kReads; ++i) {
    begun_.record(queue_.stream());
    queue_.launched(kernels::launch_read(levels_[0].values.at(), bytes, sum_.at(), queue_.handle()),
                    "read");
    ended_.record(queue_.stream());
    queue_.wait();
    best = std::max(best, static_cast<double>(bytes) / ended_.seconds_since(begun_));
  }
  return best;
}

}  // namespace cb
