#include "bench/cpu/cg.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/cpu/random.h"
#include "core/error.h"

namespace cb {
namespace {

constexpr double kDiagonal = 26, kNeighbour = -1;

size_t at(int index) { return static_cast<size_t>(index); }

double cube(int64_t edge) {
  const auto e = static_cast<double>(edge);
  return e * e * e;
}

int64_t edge_on(int64_t edge, int level) { return edge >> level; }

}  // namespace

int64_t cg_memory(int64_t edge) {
  double out = 5 * 8 * cube(edge);
  for (int level = 0; level < kCgLevels; ++level) {
    const int64_t e = edge_on(edge, level);
    out += 12 * static_cast<double>(cg_nonzeros(e)) + (8 + 8 + 3 * 8) * cube(e);
  }
  return static_cast<int64_t>(out);
}

bool cg_divides(int64_t edge, int threads) {
  return edge >= 16 && edge % 8 == 0 && edge / 8 >= threads;
}

CgProblem::CgProblem(int64_t edge, Team& team) : team_(team) {
  if (!cg_divides(edge, team.size())) throw Error(said("cg.edge", edge, team.size()));
  levels_.resize(at(kCgLevels));
  for (int level = 0; level < kCgLevels; ++level) {
    levels_[at(level)].edge = edge_on(edge, level);
    levels_[at(level)].slabs.resize(at(team.size()));
    build(level);
  }
  CubeVector ones = vector();
  team_.run([&](int t) {
    const int64_t size = plane(0) * (levels_[0].slabs[at(t)].planes + 2);
    std::fill_n(ones[at(t)].get(), size, 1.0);
  });
  b_ = vector();
  multiply(ones, b_);
}

// Thread by thread, each its own planes: who writes first places the memory.
void CgProblem::build(int level) {
  Level& l = levels_[at(level)];
  const int64_t e = l.edge;
  const int64_t scale =
      e / edge_on(levels_[0].edge, kCgLevels - 1);  // planes of one coarsest plane
  const auto coarsest = static_cast<size_t>(edge_on(levels_[0].edge, kCgLevels - 1));
  team_.run([&](int t) {
    const Range range = share_of_items(coarsest, team_.size(), t);
    const int64_t first = static_cast<int64_t>(range.begin) * scale;
    Slab& s = l.slabs[at(t)];
    s.planes = static_cast<int64_t>(range.size()) * scale;
    const int64_t rows = s.planes * e * e;
    s.begin.assign(static_cast<size_t>(rows) + 1, 0);
    s.values = make_pages<double>(static_cast<size_t>(27 * rows));
    s.columns = make_pages<int32_t>(static_cast<size_t>(27 * rows));
    s.diagonal = make_pages<double>(static_cast<size_t>(rows));
    int64_t k = 0, row = 0;
    for (int64_t z = 0; z < s.planes; ++z)
      for (int64_t y = 0; y < e; ++y)
        for (int64_t x = 0; x < e; ++x, ++row) {
          for (int64_t dz = -1; dz <= 1; ++dz)
            for (int64_t dy = -1; dy <= 1; ++dy)
              for (int64_t dx = -1; dx <= 1; ++dx) {
                const int64_t nx = x + dx, ny = y + dy, nz = first + z + dz;
                if (std::min({nx, ny, nz}) < 0 || std::max({nx, ny, nz}) >= e) continue;
                const bool self = dx == 0 && dy == 0 && dz == 0;
                s.values[static_cast<size_t>(k)] = self ? kDiagonal : kNeighbour;
                s.columns[static_cast<size_t>(k)] =
                    static_cast<int32_t>((z + dz + 1) * e * e + ny * e + nx);
                ++k;
              }
          s.diagonal[static_cast<size_t>(row)] = kDiagonal;
          s.begin[static_cast<size_t>(row) + 1] = k;
        }
  });
  l.residual = vector_on(level);
  l.product = vector_on(level);
  l.correction = vector_on(level);
}

CubeVector CgProblem::vector_on(int level) const {
  CubeVector out(at(team_.size()));
  team_.run([&](int t) {
    const auto size =
        static_cast<size_t>(plane(level) * (levels_[at(level)].slabs[at(t)].planes + 2));
    out[at(t)] = make_pages<double>(size);
    std::fill_n(out[at(t)].get(), size, 0.0);
  });
  return out;
}

void CgProblem::fill_random(CubeVector& x, uint64_t seed) const {
  team_.run([&](int t) {
    Random random(seed, static_cast<uint64_t>(t));
    double* own_rows = x[at(t)].get() + plane(0);
    for (int64_t i = 0; i < own(0, t); ++i) own_rows[i] = random.symmetric();
  });
}

SparseRows CgProblem::rows_of(int level, int t) const {
  const Slab& s = levels_[at(level)].slabs[at(t)];
  return {own(level, t),  plane(level),    s.begin.data(),
          s.values.get(), s.columns.get(), s.diagonal.get()};
}

// Copies the neighbours' outermost planes. At the ends of the cube nothing reads them.
void CgProblem::exchange(int level, CubeVector& x) {
  if (team_.size() == 1) return;
  const auto bytes = static_cast<size_t>(plane(level)) * sizeof(double);
  team_.run([&](int t) {
    const int64_t p = plane(level);
    if (t > 0) std::memcpy(x[at(t)].get(), x[at(t - 1)].get() + own(level, t - 1), bytes);
    if (t + 1 < team_.size())
      std::memcpy(x[at(t)].get() + p + own(level, t), x[at(t + 1)].get() + p, bytes);
  });
}

void CgProblem::multiply_on(int level, CubeVector& x, CubeVector& y) {
  exchange(level, x);
  team_.run([&](int t) { multiply_rows(rows_of(level, t), x[at(t)].get(), y[at(t)].get()); });
}

void CgProblem::sweep(int level, const CubeVector& r, CubeVector& x) {
  exchange(level, x);
  team_.run([&](int t) { sweep_rows(rows_of(level, t), r[at(t)].get(), x[at(t)].get()); });
}

void CgProblem::zero(int level, CubeVector& x) {
  team_.run([&](int t) {
    std::fill_n(x[at(t)].get(), plane(level) * (levels_[at(level)].slabs[at(t)].planes + 2), 0.0);
  });
}

void CgProblem::cycle(int level, const CubeVector& r, CubeVector& x) {
  zero(level, x);
  sweep(level, r, x);
  if (level + 1 == kCgLevels) return;
  multiply_on(level, x, levels_[at(level)].product);
  restrict_residual(level, r);
  Level& below = levels_[at(level + 1)];
  cycle(level + 1, below.residual, below.correction);
  prolong(level, x);
  sweep(level, r, x);
}

// Every second point of each axis keeps its residual r − A·x: injection, as in HPCG.
void CgProblem::restrict_residual(int level, const CubeVector& r) {
  const Level& fine = levels_[at(level)];
  Level& coarse = levels_[at(level + 1)];
  const int64_t e = coarse.edge;
  team_.run([&](int t) {
    double* to = coarse.residual[at(t)].get() + plane(level + 1);
    const double* from = r[at(t)].get() + plane(level);
    const double* product = fine.product[at(t)].get() + plane(level);
    for (int64_t z = 0; z < coarse.slabs[at(t)].planes; ++z)
      for (int64_t y = 0; y < e; ++y)
        for (int64_t x = 0; x < e; ++x) {
          const int64_t f = (2 * z * fine.edge + 2 * y) * fine.edge + 2 * x;
          *to++ = from[f] - product[f];
        }
  });
}

void CgProblem::prolong(int level, CubeVector& x) {
  const Level& fine = levels_[at(level)];
  const Level& coarse = levels_[at(level + 1)];
  const int64_t e = coarse.edge;
  team_.run([&](int t) {
    const double* from = coarse.correction[at(t)].get() + plane(level + 1);
    double* to = x[at(t)].get() + plane(level);
    for (int64_t z = 0; z < coarse.slabs[at(t)].planes; ++z)
      for (int64_t y = 0; y < e; ++y)
        for (int64_t i = 0; i < e; ++i)
          to[(2 * z * fine.edge + 2 * y) * fine.edge + 2 * i] += *from++;
  });
}

double CgProblem::dot(const CubeVector& x, const CubeVector& y) const {
  std::vector<double> sums(at(team_.size()));
  team_.run([&](int t) {
    sums[at(t)] = dot_of(x[at(t)].get() + plane(0), y[at(t)].get() + plane(0), own(0, t));
  });
  double out = 0;  // in the order of the threads: the same bits each time
  for (const double sum : sums) out += sum;
  return out;
}

void CgProblem::update(double alpha, const CubeVector& x, double beta, const CubeVector& y,
                       CubeVector& w) {
  team_.run([&](int t) {
    const int64_t p = plane(0);
    combine(alpha, x[at(t)].get() + p, beta, y[at(t)].get() + p, w[at(t)].get() + p, own(0, t));
  });
}

CgProblem::Solution CgProblem::solve(int most, double tolerance, bool preconditioned,
                                     const std::function<void()>& moved, bool spoil) {
  CubeVector x = vector(), r = vector(), z = vector(), p = vector(), ap = vector();
  update(1, b_, 0, b_, r);
  const double norm_b = std::sqrt(dot(b_, b_));
  Solution out{.residual = 1};
  double rz = 0;
  // Written so that a NaN goes on to the end and is found there.
  while (out.iterations < most && !(out.residual <= tolerance)) {
    if (preconditioned)
      precondition(r, z);
    else
      update(1, r, 0, r, z);
    const double before = rz;
    rz = dot(r, z);
    update(1, z, out.iterations == 0 ? 0 : rz / before, p, p);
    multiply(p, ap);
    const double alpha = rz / dot(p, ap);
    update(1, x, alpha, p, x);
    update(1, r, -alpha, ap, r);
    out.residual = std::sqrt(dot(r, r)) / norm_b;
    ++out.iterations;
    moved();
  }
  if (spoil) x[0][static_cast<size_t>(plane(0) + own(0, 0) / 2)] += 1;
  multiply(x, ap);
  update(1, b_, -1, ap, r);
  out.true_residual = std::sqrt(dot(r, r)) / norm_b;
  for (int t = 0; t < team_.size(); ++t) {
    const double* own_rows = x[at(t)].get() + plane(0);
    for (int64_t i = 0; i < own(0, t); ++i) {
      const double error = std::abs(own_rows[i] - 1);
      if (!(error <= out.error) && !std::isnan(out.error)) out.error = error;
    }
  }
  return out;
}

}  // namespace cb
