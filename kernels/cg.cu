// A thread has a point. Points of a colour that follow one another are two apart along x, and so
// are their neighbours: all accesses of neighbouring threads are neighbours in memory.
#include "kernels/block_sums.h"
#include "kernels/cg.h"
#include "kernels/launch.h"

namespace cb::kernels {
namespace {

using Place = std::int64_t;

__global__ void __launch_bounds__(block_threads) cg_build(CgMatrix a) {
  const Place all = a.cube.all(), edge = a.cube.edge;
  for (Place i = loop_begin(); i < all; i += loop_step()) {
    const CgPoint p = cg_point(a.cube, i);
    for (int k = 0; k < cg_entries; ++k) {
      const Place x = p.x + k % 3 - 1, y = p.y + k / 3 % 3 - 1, z = p.z + k / 9 - 1;
      const bool inside = x >= 0 && y >= 0 && z >= 0 && x < edge && y < edge && z < edge;
      a.values[k * all + i] = !inside ? 0.0 : k == cg_entries / 2 ? 26.0 : -1.0;
      a.columns[k * all + i] = static_cast<std::int32_t>(inside ? a.cube.number(x, y, z) : i);
    }
  }
}

__device__ double row_times(const CgMatrix& a, Place all, Place row, const double* x) {
  double sum = 0;
  for (int k = 0; k < cg_entries; ++k) sum += a.values[k * all + row] * x[a.columns[k * all + row]];
  return sum;
}

__global__ void __launch_bounds__(block_threads)
    cg_multiply(CgMatrix a, const double* x, double* y) {
  const Place all = a.cube.all();
  for (Place i = loop_begin(); i < all; i += loop_step()) y[i] = row_times(a, all, i, x);
}

__device__ bool inside(const CgCube& cube, Place x, Place y, Place z) {
  const Place edge = cube.edge;
  return x >= 0 && y >= 0 && z >= 0 && x < edge && y < edge && z < edge;
}
__global__ void __launch_bounds__(block_threads)
    cg_defect(CgCube cube, const double* x, double* r) {
  for (Place i = loop_begin(); i < cube.all(); i += loop_step()) {
    const CgPoint p = cg_point(cube, i);
    double sum = 27 * (1 - x[i]);
    for (Place dz = -1; dz <= 1; ++dz)
      for (Place dy = -1; dy <= 1; ++dy)
        for (Place dx = -1; dx <= 1; ++dx)
          if (inside(cube, p.x + dx, p.y + dy, p.z + dz))
            sum -= 1 - x[cube.number(p.x + dx, p.y + dy, p.z + dz)];
    r[i] = sum;
  }
}

// Each row's equation for its own element, with the others as they are now.
__global__ void __launch_bounds__(block_threads)
    cg_relax(CgMatrix a, const double* r, double* x, int colour) {
  const Place all = a.cube.all(), first = a.cube.first(colour), end = first + a.cube.points(colour);
  for (Place i = first + loop_begin(); i < end; i += loop_step()) {
    const double diagonal = a.values[cg_entries / 2 * all + i];
    x[i] = (r[i] - row_times(a, all, i, x) + diagonal * x[i]) / diagonal;
  }
}

// The point of the finer cube that is point `i` of the coarser one, among those of its colour.
__device__ Place fine_place(const CgCube& coarse, Place i) {
  const CgPoint p = cg_point(coarse, i);
  return (p.z * coarse.edge + p.y) * coarse.edge + p.x;
}

__global__ void __launch_bounds__(block_threads) cg_restrict(CgCoarsening c) {
  for (Place i = loop_begin(); i < c.coarse.all(); i += loop_step()) {
    const Place fine = fine_place(c.coarse, i);
    c.coarse_r[i] = c.r[fine] - c.product[fine];
  }
}
__global__ void __launch_bounds__(block_threads) cg_prolong(CgCoarsening c) {
  for (Place i = loop_begin(); i < c.coarse.all(); i += loop_step())
    c.x[fine_place(c.coarse, i)] += c.coarse_x[i];
}

__global__ void __launch_bounds__(block_threads) cg_dot_parts(CgDot d) {
  double sum = 0;
  for (Place i = loop_begin(); i < d.count; i += loop_step()) sum += d.x[i] * d.y[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) d.parts[blockIdx.x] = sum;
}
// One block.
__global__ void __launch_bounds__(block_threads)
    cg_dot_join(const double* parts, int count, CgScalars* s, CgSum what) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) sum += parts[i];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  if (what == CgSum::dot) s->dot = sum;
  if (what == CgSum::rr) s->rr = sum;
  if (what == CgSum::alpha) s->alpha = s->rz / sum;
  if (what == CgSum::rz || what == CgSum::first_rz) {
    s->beta = what == CgSum::rz ? sum / s->rz : 0;
    s->rz = sum;
  }
}

__device__ double value_of(CgFactor factor, const CgScalars& s) {
  switch (factor) {
    case CgFactor::alpha:
      return s.alpha;
    case CgFactor::minus_alpha:
      return -s.alpha;
    case CgFactor::beta:
      return s.beta;
    default:
      return factor == CgFactor::one ? 1 : -1;
  }
}
__global__ void __launch_bounds__(block_threads) cg_update(CgUpdate u, CgFactor factor) {
  const double by = value_of(factor, *u.scalars);
  for (Place i = loop_begin(); i < u.count; i += loop_step()) u.w[i] = u.x[i] + by * u.y[i];
}

__global__ void __launch_bounds__(block_threads) cg_set(double* x, Place count, double value) {
  for (Place i = loop_begin(); i < count; i += loop_step()) x[i] = value;
}
__global__ void __launch_bounds__(block_threads)
    cg_draw(double* x, Place count, std::uint64_t seed) {
  for (Place i = loop_begin(); i < count; i += loop_step()) x[i] = cg_random(i, seed);
}

}  // namespace

int launch_cg_build(const CgMatrix& a, void* stream) {
  return launch<cg_build>({blocks_of(a.cube.all()), block_threads}, stream, a);
}

int launch_cg_multiply(const CgMatrix& a, const double* x, double* y, void* stream) {
  return launch<cg_multiply>({blocks_of(a.cube.all()), block_threads}, stream, a, x, y);
}

int launch_cg_defect(const CgCube& cube, const double* x, double* r, void* stream) {
  return launch<cg_defect>({blocks_of(cube.all()), block_threads}, stream, cube, x, r);
}

int launch_cg_sweep(const CgMatrix& a, const double* r, double* x, void* stream) {
  for (int turn = 0; turn < cg_sweep_launches; ++turn) {
    const int colour = turn < cg_colours ? cg_colours - 1 - turn : turn - cg_colours;
    const unsigned blocks = blocks_of(a.cube.points(colour));
    if (const int e = launch<cg_relax>({blocks, block_threads}, stream, a, r, x, colour)) return e;
  }
  return cudaSuccess;
}

int launch_cg_restrict(const CgCoarsening& c, void* stream) {
  return launch<cg_restrict>({blocks_of(c.coarse.all()), block_threads}, stream, c);
}
int launch_cg_prolong(const CgCoarsening& c, void* stream) {
  return launch<cg_prolong>({blocks_of(c.coarse.all()), block_threads}, stream, c);
}

int launch_cg_dot(const CgDot& d, CgSum sum, void* stream) {
  const unsigned needed = blocks_of((d.count + 15) / 16);  // meeting costs more than some elements
  const unsigned blocks = needed < cg_parts ? needed : static_cast<unsigned>(cg_parts);
  if (const int e = launch<cg_dot_parts>({blocks, block_threads}, stream, d)) return e;
  return launch<cg_dot_join>({1, block_threads}, stream, d.parts, static_cast<int>(blocks),
                             d.scalars, sum);
}

int launch_cg_update(const CgUpdate& u, CgFactor factor, void* stream) {
  return launch<cg_update>({blocks_of(u.count), block_threads}, stream, u, factor);
}

int launch_cg_set(double* x, std::int64_t count, double value, void* stream) {
  return launch<cg_set>({blocks_of(count), block_threads}, stream, x, count, value);
}
int launch_cg_random(double* x, std::int64_t count, std::uint64_t seed, void* stream) {
  return launch<cg_draw>({blocks_of(count), block_threads}, stream, x, count, seed);
}

}  // namespace cb::kernels
