// What conjugate gradients with HPCG's operator and preconditioner need on a GPU, in fp64. The
// points of a cube are numbered colour by colour: a colour is one of eight parities of (x, y, z),
// and no two of its points are neighbours, so that a sweep may change all of them at once. Sums are
// taken in an order that the sizes alone decide. A NaN that goes in comes out.
#pragma once

#include <cstdint>

#include "kernels/pattern.h"

namespace cb::kernels {

inline constexpr int cg_entries = 27;  // of a row; those beyond the cube are zeros
inline constexpr int cg_colours = 8;

// How the points of a cube are numbered.
struct CgCube {
  std::int64_t edge;

  // Points of a colour along one axis, of which bit `bit` of the colour is the parity.
  CB_HOST_DEVICE constexpr std::int64_t extent(int colour, int bit) const {
    return (edge + 1 - (colour >> bit & 1)) / 2;
  }
  CB_HOST_DEVICE constexpr std::int64_t points(int colour) const {
    return extent(colour, 0) * extent(colour, 1) * extent(colour, 2);
  }
  CB_HOST_DEVICE constexpr std::int64_t first(int colour) const {
    std::int64_t out = 0;
    for (int c = 0; c < colour; ++c) out += points(c);
    return out;
  }
  CB_HOST_DEVICE constexpr std::int64_t all() const { return edge * edge * edge; }
  CB_HOST_DEVICE constexpr std::int64_t number(std::int64_t x, std::int64_t y,
                                               std::int64_t z) const {
    const int colour = static_cast<int>(x % 2 + 2 * (y % 2) + 4 * (z % 2));
    return first(colour) + (z / 2 * extent(colour, 1) + y / 2) * extent(colour, 0) + x / 2;
  }
};
struct CgPoint {
  std::int64_t x, y, z;
};
// The point with that number.
CB_HOST_DEVICE constexpr CgPoint cg_point(const CgCube& cube, std::int64_t number) {
  int colour = 0;
  while (number >= cube.points(colour)) number -= cube.points(colour++);
  const std::int64_t row = number / cube.extent(colour, 0);
  return {number % cube.extent(colour, 0) * 2 + (colour & 1),
          row % cube.extent(colour, 1) * 2 + (colour >> 1 & 1),
          row / cube.extent(colour, 1) * 2 + (colour >> 2)};
}

// The operator: 26 on the diagonal, −1 for each neighbour. Entry k of all rows lies together; the
// diagonal is entry 13.
struct CgMatrix {
  CgCube cube;
  double* values;
  std::int32_t* columns;
};
int launch_cg_build(const CgMatrix& a, void* stream);
int launch_cg_multiply(const CgMatrix& a, const double* x, double* y, void* stream);
// r = A·(1 − x), by the operator's definition: the residual of x where the solution is 1
// everywhere, without the matrix that is stored.
int launch_cg_defect(const CgCube& cube, const double* x, double* r, void* stream);
// Gauss-Seidel, x towards A·x = r: colours downwards, then upwards. So the first colour is not the
// last to be relaxed: its residual, of which the coarser cube is made, would be zero.
// cg_sweep_launches launches.
int launch_cg_sweep(const CgMatrix& a, const double* r, double* x, void* stream);
inline constexpr int cg_sweep_launches = 2 * cg_colours;

// Every second point of each axis, the first colour of the finer cube, is a point of the coarser
// one: its residual r − product goes there, and what was found there is added to x.
struct CgCoarsening {
  CgCube coarse;
  const double *r, *product;
  double *coarse_r, *x;
  const double* coarse_x;
};
int launch_cg_restrict(const CgCoarsening& c, void* stream);
int launch_cg_prolong(const CgCoarsening& c, void* stream);

// The numbers of an iteration, kept on the device.
struct CgScalars {
  double rz, rr, alpha, beta, dot;
};
// What becomes of a sum: dot; rz with beta = rz / the one before, or 0 at the first; alpha = rz /
// sum; rr.
enum class CgSum : int { dot, first_rz, rz, alpha, rr };
// Of x·y over `count` elements. `parts`: room for cg_parts numbers. Two launches.
inline constexpr std::int64_t cg_parts = 1024;
struct CgDot {
  const double *x, *y;
  std::int64_t count;
  double* parts;
  CgScalars* scalars;
};
int launch_cg_dot(const CgDot& d, CgSum sum, void* stream);

// w = x + factor·y; w may be x or y. The factor is of the device: 1, −1, alpha, −alpha or beta.
enum class CgFactor : int { one, minus_one, alpha, minus_alpha, beta };
struct CgUpdate {
  const double *x, *y;
  double* w;
  std::int64_t count;
  const CgScalars* scalars;
};
int launch_cg_update(const CgUpdate& u, CgFactor factor, void* stream);

// Sets all elements: to `value`, or to numbers in [−1, 1) from the seed.
int launch_cg_set(double* x, std::int64_t count, double value, void* stream);
int launch_cg_random(double* x, std::int64_t count, std::uint64_t seed, void* stream);
CB_HOST_DEVICE inline double cg_random(std::int64_t index, std::uint64_t seed) {
  return static_cast<double>(
             static_cast<std::int64_t>(pattern_word(static_cast<std::uint64_t>(index), seed)) >>
             11) *
         0x1p-52;
}

}  // namespace cb::kernels
