#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/cpu/cg_kernels.h"
#include "bench/cpu/memory.h"
#include "bench/cpu/team.h"
#include "model/hpcg.h"

// HPCG's problem within one process: a 27-point operator on a cube, conjugate gradients, and as
// preconditioner a V-cycle of four levels with one symmetric Gauss-Seidel sweep before and after
// (Heroux, Dongarra, Luszczek: HPCG Technical Specification, SAND2013-8752). Threads are what
// HPCG's processes are: each has a slab of planes and sees its neighbours' planes as they were
// before a sweep.
namespace cb {

// Bytes that the problem takes.
int64_t cg_memory(int64_t edge);
// The reason why a cube cannot be divided: its edge is a multiple of 8, at least 16, and has one
// plane of the coarsest level for each thread. True if it can.
bool cg_divides(int64_t edge, int threads);

// A vector over the cube: one array a thread, with a plane of each neighbour.
using CubeVector = std::vector<Pages<double>>;

class CgProblem {
 public:
  // Throws Error unless cg_divides().
  CgProblem(int64_t edge, Team& team);

  CubeVector vector() const { return vector_on(0); }  // all zero
  // The right-hand side: the sum of each row, so that the solution is 1 everywhere.
  const CubeVector& right_side() const { return b_; }
  void fill_random(CubeVector& x, uint64_t seed) const;

  void multiply(CubeVector& x, CubeVector& y) { multiply_on(0, x, y); }  // y = A·x
  void precondition(const CubeVector& r, CubeVector& z) { cycle(0, r, z); }
  double dot(const CubeVector& x, const CubeVector& y) const;

  struct Solution {
    int iterations = 0;
    double residual = 0;       // ‖b − A·x‖₂ / ‖b‖₂ as the recursion has it
    double true_residual = 0;  // the same from x
    double error = 0;          // the largest |x − 1|
  };
  // From x = 0, to a residual of `tolerance` or for `most` iterations. Calls `moved` after each.
  // `spoil`: changes an element of x at the end, to prove that it is seen.
  Solution solve(int most, double tolerance, bool preconditioned,
                 const std::function<void()>& moved, bool spoil = false);

 private:
  struct Slab {
    int64_t planes = 0;
    std::vector<int64_t> begin = {};
    Pages<double> values, diagonal;
    Pages<int32_t> columns;
  };
  struct Level {
    int64_t edge = 0;
    std::vector<Slab> slabs;
    CubeVector residual, product, correction;  // of the cycle
  };

  CubeVector vector_on(int level) const;
  void build(int level);
  SparseRows rows_of(int level, int thread) const;
  int64_t plane(int level) const {
    return levels_[static_cast<size_t>(level)].edge * levels_[static_cast<size_t>(level)].edge;
  }
  int64_t own(int level, int thread) const {
    return plane(level) *
           levels_[static_cast<size_t>(level)].slabs[static_cast<size_t>(thread)].planes;
  }
  void exchange(int level, CubeVector& x);
  void multiply_on(int level, CubeVector& x, CubeVector& y);
  void sweep(int level, const CubeVector& r, CubeVector& x);
  void cycle(int level, const CubeVector& r, CubeVector& x);
  void restrict_residual(int level, const CubeVector& r);
  void prolong(int level, CubeVector& x);
  void update(double alpha, const CubeVector& x, double beta, const CubeVector& y, CubeVector& w);
  void zero(int level, CubeVector& x);

  Team& team_;
  std::vector<Level> levels_;
  CubeVector b_;
};

}  // namespace cb
