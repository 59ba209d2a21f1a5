// A thread has a row where columns are long, and a block has a column where they are short: the
// accesses of neighbouring threads are neighbours in memory.
#include "kernels/block_sums.h"
#include "kernels/launch.h"
#include "kernels/lu.h"
#include "kernels/lu_exchanges.h"

namespace cb::kernels {
namespace {

using Row = std::int64_t;

struct OfColumn {
  double value[lu_most_block];
};
struct RowsOfBlock {
  Row row[lu_most_block];
};
constexpr int tile = 32;  // rows of a triangle that a warp solves, a lane each

__global__ void __launch_bounds__(block_threads)
    lu_fill(double* a, Row ld, Row order, std::uint64_t seed) {
  for (Row column = blockIdx.y; column <= order; column += gridDim.y) {
    const std::uint64_t own = lu_column_seed(column, seed);
    for (Row i = loop_begin(); i < order; i += loop_step()) a[column * ld + i] = lu_element(i, own);
  }
}

// Of a warp: rows first … of x, at most a tile of them, in the order of the triangle's columns.
__device__ void solve_tile(const LuTriangle& t, Row first, double* x) {
  const int lane = static_cast<int>(threadIdx.x);
  const Row row = first + lane;
  double l[tile];
#pragma unroll
  for (int j = 0; j < tile; ++j)
    l[j] = j < lane && row < t.order ? t.l[(first + j) * t.ldl + row] : 0;
  double mine = row < t.order ? x[row] : 0;
#pragma unroll
  for (int j = 0; j < tile; ++j) {
    const double known = __shfl_sync(~0U, mine, j);
    if (j < lane) mine -= l[j] * known;
  }
  if (row < t.order) x[row] = mine;
}

// A block has a column of B, which it keeps while it goes down the triangle.
template <bool invert>
__global__ void __launch_bounds__(block_threads) lu_solve(LuTriangle t) {
  CB_SHARED(OfColumn, x);
  for (Row column = blockIdx.x; column < t.columns; column += gridDim.x) {
    double* b = t.b + column * t.ldb;
    for (Row i = threadIdx.x; i < t.order; i += block_threads)
      x.value[i] = invert ? (i == column ? 1.0 : 0.0) : b[i];
    __syncthreads();
    for (Row first = invert ? column : 0; first < t.order; first += tile) {
      if (threadIdx.x < 32) solve_tile(t, first, x.value);
      __syncthreads();
      for (Row i = first + tile + threadIdx.x; i < t.order; i += block_threads) {
        double sum = x.value[i];
#pragma unroll
        for (int j = 0; j < tile; ++j) sum -= t.l[(first + j) * t.ldl + i] * x.value[first + j];
        x.value[i] = sum;
      }
      __syncthreads();
    }
    for (Row i = threadIdx.x; i < t.order; i += block_threads) b[i] = x.value[i];
    __syncthreads();  // the next column overwrites x
  }
}

// One block.
__global__ void __launch_bounds__(block_threads)
    lu_plan(const std::int64_t* pivots, int count, LuMoves m) {
  CB_SHARED(RowsOfBlock, all);
  for (int j = static_cast<int>(threadIdx.x); j < count; j += block_threads) all.row[j] = pivots[j];
  __syncthreads();
  for (int j = static_cast<int>(threadIdx.x); j < count; j += block_threads) {
    const bool named = lu_named_first(j, all.row, 0, count);
    m.from[j] = lu_origin(j, all.row, 0, count);
    m.to[j] = named ? all.row[j] : -1;
    m.with[j] = named ? lu_origin(all.row[j], all.row, 0, count) : 0;
  }
}

// A block has a column: it reads all that moves before it writes any of it.
__global__ void __launch_bounds__(block_threads) lu_move(LuExchange e) {
  for (Row column = blockIdx.x; column < e.columns; column += gridDim.x) {
    double *a = e.a + column * e.ld, *top = e.top + column * e.count;
    for (Row j = threadIdx.x; j < e.count; j += block_threads) top[j] = a[e.moves.from[j]];
    __syncthreads();
    for (Row j = threadIdx.x; j < e.count; j += block_threads)
      if (e.moves.to[j] >= 0) a[e.moves.to[j]] = a[e.moves.with[j]];
  }
}

// Of a warp: rows first … last of y, at most a tile of them, from the last to the first.
__device__ void solve_back(const LuBack& b, Row first, Row last) {
  const int lane = static_cast<int>(threadIdx.x), rows = static_cast<int>(last - first) + 1;
  double u[tile];
#pragma unroll
  for (int j = 0; j < tile; ++j)
    u[j] = lane <= j && j < rows ? b.u[(first + j) * b.ld + first + lane] : 1;
  double mine = lane < rows ? b.y[first + lane] : 0;
#pragma unroll
  for (int j = tile - 1; j >= 0; --j) {
    if (lane == j) mine /= u[j];
    const double known = __shfl_sync(~0U, mine, j);
    if (lane < j && j < rows) mine -= u[j] * known;
  }
  if (lane < rows) b.y[first + lane] = mine;
}

// One block solves the triangle, from its last column to its first.
__global__ void __launch_bounds__(block_threads) lu_back_solve(LuBack b) {
  for (Row last = b.end - 1; last >= b.begin; last -= tile) {
    const Row first = last - tile + 1 > b.begin ? last - tile + 1 : b.begin;
    if (threadIdx.x < 32) solve_back(b, first, last);
    __syncthreads();
    for (Row i = b.begin + threadIdx.x; i < first; i += block_threads) {
      double sum = b.y[i];
#pragma unroll
      for (int j = tile - 1; j >= 0; --j) sum -= b.u[(first + j) * b.ld + i] * b.y[first + j];
      b.y[i] = sum;
    }
    __syncthreads();
  }
}
__global__ void __launch_bounds__(block_threads) lu_back_update(LuBack b) {
  for (Row i = loop_begin(); i < b.begin; i += loop_step()) {
    double sum = b.y[i];
#pragma unroll 16
    for (Row j = b.end - 1; j >= b.begin; --j) sum -= b.u[j * b.ld + i] * b.y[j];
    b.y[i] = sum;
  }
}

// Part blockIdx.y of the columns; a thread has a row.
__global__ void __launch_bounds__(block_threads) lu_residual(LuResidual r) {
  const Row part = blockIdx.y;
  const Row begin = r.order * part / lu_residual_parts;
  const Row end = r.order * (part + 1) / lu_residual_parts;
  for (Row i = loop_begin(); i < r.order; i += loop_step()) {
    double product = 0, sum = 0;
    for (Row j = begin; j < end; ++j) {
      const double element = lu_element(i, lu_column_seed(j, r.seed));
      product += element * r.x[j];
      sum += fabs(element);
    }
    r.parts[part * r.order + i] = product;
    r.parts[(lu_residual_parts + part) * r.order + i] = sum;
  }
}
__global__ void __launch_bounds__(block_threads) lu_residual_join(LuResidual r) {
  for (Row i = loop_begin(); i < r.order; i += loop_step()) {
    double product = 0, sum = 0;
    for (Row part = 0; part < lu_residual_parts; ++part) {
      product += r.parts[part * r.order + i];
      sum += r.parts[(lu_residual_parts + part) * r.order + i];
    }
    r.product[i] = product;
    r.sums[i] = sum;
  }
}

unsigned one_each(Row items) { return static_cast<unsigned>(items < 65535 ? items : 65535); }

}  // namespace

int launch_lu_fill(double* a, std::int64_t ld, std::int64_t order, std::uint64_t seed,
                   void* stream) {
  return launch<lu_fill>({dim3(blocks_of(order), one_each(order + 1)), block_threads}, stream, a,
                         ld, order, seed);
}

int launch_lu_solve(const LuTriangle& t, bool invert, void* stream) {
  if (t.order > lu_most_block) return cudaErrorInvalidValue;
  if (t.order == 0 || t.columns == 0) return cudaSuccess;
  const Shape shape{one_each(t.columns), block_threads};
  return invert ? launch<lu_solve<true>>(shape, stream, t)
                : launch<lu_solve<false>>(shape, stream, t);
}

int launch_lu_plan(const std::int64_t* pivots, std::int64_t count, const LuMoves& moves,
                   void* stream) {
  if (count > lu_most_block) return cudaErrorInvalidValue;
  return launch<lu_plan>({1, block_threads}, stream, pivots, static_cast<int>(count), moves);
}

int launch_lu_move(const LuExchange& e, void* stream) {
  if (e.columns == 0) return cudaSuccess;
  return launch<lu_move>({one_each(e.columns), block_threads}, stream, e);
}

int launch_lu_back(const LuBack& b, void* stream) {
  if (const int e = launch<lu_back_solve>({1, block_threads}, stream, b)) return e;
  if (b.begin == 0) return cudaSuccess;
  return launch<lu_back_update>({blocks_of(b.begin), block_threads}, stream, b);
}

int launch_lu_residual(const LuResidual& r, void* stream) {
  const dim3 blocks(blocks_of(r.order), static_cast<unsigned>(lu_residual_parts));
  if (const int e = launch<lu_residual>({blocks, block_threads}, stream, r)) return e;
  return launch<lu_residual_join>({blocks_of(r.order), block_threads}, stream, r);
}

}  // namespace cb::kernels
