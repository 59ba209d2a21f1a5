// A thread has a row where columns are long, and a block has a column where they are short: the
// accesses of neighbouring threads are neighbours in memory.
#include "kernels/block_sums.h"
#include "kernels/launch.h"
#include "kernels/lu.h"

namespace cb::kernels {
namespace {

using Row = std::int64_t;

struct OfColumn {
  double value[lu_most_block];
};
struct PicksOfWarps {
  double size[block_threads / 32];
  std::int64_t row[block_threads / 32];
};
struct Places {
  std::int32_t content[2 * lu_most_block];
  std::int32_t place[lu_most_block];
};

__global__ void __launch_bounds__(block_threads)
    lu_fill(double* a, Row ld, Row order, std::uint64_t seed) {
  for (Row column = blockIdx.y; column <= order; column += gridDim.y) {
    const std::uint64_t own = lu_column_seed(column, seed);
    for (Row i = loop_begin(); i < order; i += loop_step()) a[column * ld + i] = lu_element(i, own);
  }
}

__device__ LuPick pick_of(double value, Row row) {
  return {isnan(value) ? INFINITY : fabs(value), row};
}
__device__ LuPick larger(const LuPick& a, const LuPick& b) {
  if (a.size != b.size) return a.size > b.size ? a : b;
  return a.row <= b.row ? a : b;
}

// Of all threads of the block.
__device__ LuPick block_pick(LuPick mine) {
  CB_SHARED(PicksOfWarps, tops);
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const double size = __shfl_xor_sync(~0U, mine.size, lanes);
    const long long row = __shfl_xor_sync(~0U, static_cast<long long>(mine.row), lanes);
    mine = larger(mine, {size, row});
  }
  if (threadIdx.x % 32 == 0) {
    tops.size[threadIdx.x / 32] = mine.size;
    tops.row[threadIdx.x / 32] = mine.row;
  }
  __syncthreads();
  LuPick all = {tops.size[0], tops.row[0]};
  for (unsigned w = 1; w < block_threads / 32; ++w) all = larger(all, {tops.size[w], tops.row[w]});
  __syncthreads();  // the next call writes the same variable
  return all;
}

// A thread without a row has one that loses against every other.
__device__ LuPick no_pick() { return {-1, INT64_MAX}; }

__global__ void __launch_bounds__(block_threads) lu_search(LuPanel p, Row column) {
  LuPick mine = no_pick();
  for (Row i = column + loop_begin(); i < p.rows; i += loop_step())
    mine = larger(mine, pick_of(p.a[column * p.ld + i], i));
  mine = block_pick(mine);
  if (threadIdx.x == 0) p.picks[blockIdx.x] = mine;
}

// One block: of `picks` picks the best becomes the pivot of that column.
__global__ void __launch_bounds__(block_threads)
    lu_exchange(LuPanel p, Row column, unsigned picks) {
  const Row pivot = block_pick(threadIdx.x < picks ? p.picks[threadIdx.x] : no_pick()).row;
  for (Row c = threadIdx.x; c < p.columns; c += block_threads) {
    double *own = p.a + c * p.ld + column, *other = p.a + c * p.ld + pivot;
    const double value = *own;
    *own = *other;
    *other = value;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  p.pivots[column] = pivot;
  const double value = p.a[column * p.ld + column];
  if (value == 0 || !isfinite(value)) *p.irregular = 1;
}

// Divides by the pivot, updates the columns up to `end`, and looks for the next one's pivot.
__global__ void __launch_bounds__(block_threads) lu_eliminate(LuPanel p, Row column, Row end) {
  const double* row = p.a + column;
  const double scale = 1 / row[column * p.ld];
  LuPick mine = no_pick();
  for (Row i = column + 1 + loop_begin(); i < p.rows; i += loop_step()) {
    double* at = p.a + i;
    const double factor = at[column * p.ld] * scale;
    at[column * p.ld] = factor;
    for (Row c = column + 1; c < end; ++c) {
      const double value = at[c * p.ld] - factor * row[c * p.ld];
      at[c * p.ld] = value;
      if (c == column + 1) mine = larger(mine, pick_of(value, i));
    }
  }
  if (column + 1 >= end) return;
  mine = block_pick(mine);
  if (threadIdx.x == 0) p.picks[blockIdx.x] = mine;
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
    for (Row j = invert ? column : 0; j < t.order; ++j) {
      const double known = x.value[j];
      for (Row i = j + 1 + threadIdx.x; i < t.order; i += block_threads)
        x.value[i] -= t.l[j * t.ldl + i] * known;
      __syncthreads();
    }
    for (Row i = threadIdx.x; i < t.order; i += block_threads) b[i] = x.value[i];
    __syncthreads();  // the next column overwrites x
  }
}

// One block. A row among the first `count` has its own place, another one the place behind them of
// the first exchange that named it. One thread then does the exchanges in shared memory.
__global__ void __launch_bounds__(block_threads)
    lu_plan(const std::int64_t* pivots, int count, LuMoves m) {
  CB_SHARED(Places, p);
  for (int j = static_cast<int>(threadIdx.x); j < count; j += block_threads) {
    const Row pivot = pivots[j];
    int first = 0;
    if (pivot >= count)
      while (pivots[first] != pivot) ++first;
    p.place[j] = pivot < count ? static_cast<std::int32_t>(pivot) : count + first;
    p.content[j] = j;
    p.content[count + j] = count + j;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int j = 0; j < count; ++j) {
      const std::int32_t held = p.content[j];
      p.content[j] = p.content[p.place[j]];
      p.content[p.place[j]] = held;
    }
  }
  __syncthreads();
  for (int j = static_cast<int>(threadIdx.x); j < count; j += block_threads) {
    const std::int32_t held = p.content[j];
    m.from[j] = held < count ? held : pivots[held - count];
    const bool named = p.place[j] == count + j;
    m.to[j] = named ? pivots[j] : -1;
    m.with[j] = p.content[count + j];
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

// One block solves the triangle, from its last column to its first.
__global__ void __launch_bounds__(block_threads) lu_back_solve(LuBack b) {
  for (Row j = b.end - 1; j >= b.begin; --j) {
    const double* u = b.u + j * b.ld;
    if (threadIdx.x == 0) b.y[j] /= u[j];
    __syncthreads();
    const double known = b.y[j];
    for (Row i = b.begin + threadIdx.x; i < j; i += block_threads) b.y[i] -= u[i] * known;
    __syncthreads();
  }
}
__global__ void __launch_bounds__(block_threads) lu_back_update(LuBack b) {
  for (Row i = loop_begin(); i < b.begin; i += loop_step()) {
    double sum = b.y[i];
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

unsigned picking_blocks(Row rows) {
  const unsigned blocks = blocks_of(rows);
  return blocks < lu_most_picks ? blocks : lu_most_picks;
}

}  // namespace

static_assert(lu_most_picks <= block_threads);

int launch_lu_fill(double* a, std::int64_t ld, std::int64_t order, std::uint64_t seed,
                   void* stream) {
  return launch<lu_fill>({dim3(blocks_of(order), one_each(order + 1)), block_threads}, stream, a,
                         ld, order, seed);
}

int launch_lu_narrow(const LuPanel& panel, std::int64_t begin, std::int64_t end, void* stream) {
  if (end - begin > lu_narrow || end > panel.columns || end > panel.rows)
    return cudaErrorInvalidValue;
  unsigned picks = picking_blocks(panel.rows - begin);
  if (const int e = launch<lu_search>({picks, block_threads}, stream, panel, begin)) return e;
  for (std::int64_t column = begin; column < end; ++column) {
    if (const int e = launch<lu_exchange>({1, block_threads}, stream, panel, column, picks))
      return e;
    picks = picking_blocks(panel.rows - column - 1);
    if (const int e = launch<lu_eliminate>({picks, block_threads}, stream, panel, column, end))
      return e;
  }
  return cudaSuccess;
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
