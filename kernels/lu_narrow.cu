// Factors a few columns of a panel. Blocks that are on the device together hold the rows in
// registers and tell each other, column by column, their candidate for the pivot. Where the device
// has no room for all rows, each column is two launches.
#include "kernels/block_sums.h"
#include "kernels/lu.h"
#include "kernels/lu_exchanges.h"
#include "kernels/together.h"

namespace cb::kernels {
namespace {

using Row = std::int64_t;

struct PicksOfWarps {
  double size[block_threads / 32];
  std::int64_t row[block_threads / 32];
};
// What a column's elimination needs: the row of its pivot, that row, and the one that it replaces.
struct Pivot {
  Row row;
  double elements[2][lu_narrow];
  double live[lu_narrow];  // the pivot's row, zero where columns are done
};
struct Pivots {
  Row row[lu_narrow];
};

__device__ LuPick pick_of(double value, Row row) {
  return {isnan(value) ? INFINITY : fabs(value), row};
}
__device__ LuPick larger(const LuPick& a, const LuPick& b) {
  if (a.size != b.size) return a.size > b.size ? a : b;
  return a.row <= b.row ? a : b;
}
// A thread without a row has one that loses against every other.
__device__ LuPick no_pick() { return {0, UINT32_MAX}; }

// Of all lanes of the warp. Sizes are not negative, so their bits are in the order of the sizes.
__device__ LuPick warp_pick(const LuPick& mine) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(mine.size));
  const auto high = static_cast<unsigned>(bits >> 32), low = static_cast<unsigned>(bits);
  const unsigned most = __reduce_max_sync(~0U, high);
  const unsigned next = __reduce_max_sync(~0U, high == most ? low : 0);
  const bool largest = high == most && low == next;
  const unsigned row =
      __reduce_min_sync(~0U, largest ? static_cast<unsigned>(mine.row) : UINT32_MAX);
  return {__longlong_as_double(static_cast<long long>(std::uint64_t{most} << 32 | next)), row};
}

// Of all threads of the block.
__device__ LuPick block_pick(const LuPick& mine) {
  CB_SHARED(PicksOfWarps, tops);
  constexpr unsigned warps = block_threads / 32;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const LuPick top = warp_pick(mine);
  if (lane == 0) {
    tops.size[warp] = top.size;
    tops.row[warp] = top.row;
  }
  __syncthreads();
  const LuPick all = warp_pick(lane < warps ? LuPick{tops.size[lane], tops.row[lane]} : no_pick());
  __syncthreads();  // the next call writes the same variable
  return all;
}

__device__ void keep_pivot(const LuPanel& p, Row column, Row pivot, double value) {
  p.pivots[column] = pivot;
  if (value == 0 || !isfinite(value)) *p.irregular = 1;
}

// ---- In one launch. ----

// A candidate is read while its block may already tell the next one.
__device__ LuCandidate* candidates_of(LuSpace& space, std::uint64_t turn) {
  return space.candidates[turn % 2];
}

// Of one thread.
__device__ void tell(LuSpace& space, unsigned place, std::uint64_t turn, const LuPick& pick,
                     const double (&row)[lu_narrow]) {
  LuCandidate& to = candidates_of(space, turn)[place];
  to.pick = pick;
#pragma unroll
  for (int i = 0; i < lu_narrow; i += 2)
    *reinterpret_cast<double2*>(to.elements + i) = make_double2(row[i], row[i + 1]);
  announce(&space.turns[place], turn);
}

// Of the block's first warp: the best of all blocks' candidates. The last `done` columns of a row
// are done.
__device__ void learn(LuSpace& space, Row rows_of_block, Row begin, int done, std::uint64_t turn,
                      Pivot& to) {
  const LuCandidate* candidates = candidates_of(space, turn);
  LuPick best = no_pick();
  for (unsigned b = threadIdx.x; b < gridDim.x; b += 32) {
    await(&space.turns[b], turn);
    best = larger(best, {__ldcg(&candidates[b].pick.size), __ldcg(&candidates[b].pick.row)});
  }
  best = warp_pick(best);
  await(&space.turns[lu_most_picks], turn);
  __syncwarp();
  const bool replaced = threadIdx.x >= lu_narrow;
  const Row from = replaced ? Row{lu_most_picks} : (best.row - begin) / rows_of_block;
  const int i = static_cast<int>(threadIdx.x % lu_narrow);
  const double element = __ldcg(&candidates[from].elements[i]);
  to.elements[replaced ? 1 : 0][i] = element;
  if (!replaced) to.live[i] = i < lu_narrow - done ? element : 0;
  if (threadIdx.x == 0) to.row = best.row;
}

// Of one row: takes its new elements if it is exchanged, and eliminates. Then all columns move on
// by one, the first to the end: registers have no index, so the next column must be the first one.
__device__ void eliminate(const Pivot& pivot, Row row, Row column, double scale,
                          double (&value)[lu_narrow]) {
  if (row == column || row == pivot.row) {
    const double* now = pivot.elements[row == column ? 0 : 1];
#pragma unroll
    for (int i = 0; i < lu_narrow; ++i) value[i] = now[i];
  }
  const double factor = row > column ? value[0] * scale : 0;
  const double kept = row > column ? factor : value[0];
#pragma unroll
  for (int i = 0; i + 1 < lu_narrow; ++i) value[i] = value[i + 1] - factor * pivot.live[i + 1];
  value[lu_narrow - 1] = kept;
}

// Of the panel's other columns, a warp has one.
__device__ void exchange_beside(const LuPanel& p, Row begin, int width, const Row* pivots) {
  const int lane = static_cast<int>(threadIdx.x % 32), j = lane % lu_narrow;
  const bool moves = j < width && (lane < lu_narrow || lu_named_first(j, pivots, begin, width));
  const Row to = !moves ? 0 : lane < lu_narrow ? begin + j : pivots[j];
  const Row from = lu_origin(to, pivots, begin, width);
  for (Row c = (loop_begin() - lane) / 32; c < p.columns - width; c += loop_step() / 32) {
    double* column = p.a + (c < begin ? c : c + width) * p.ld;
    const double value = moves ? column[from] : 0;
    __syncwarp();
    if (moves) column[to] = value;
  }
}

// A thread has `held` rows.
template <int held>
__global__ void __launch_bounds__(block_threads, 1) lu_columns(LuPanel p, Row begin, Row end) {
  CB_SHARED(Pivot, pivot);
  CB_SHARED(Pivots, pivots);
  constexpr Row rows_of_block = Row{held} * block_threads;
  const int width = static_cast<int>(end - begin);
  const Row first = begin + rows_of_block * blockIdx.x + threadIdx.x;
  LuSpace& space = *p.space;
  const std::uint64_t turns = space.columns;
  double value[held][lu_narrow];
#pragma unroll
  for (int k = 0; k < held; ++k) {
    const Row row = first + k * block_threads;
#pragma unroll
    for (int i = 0; i < lu_narrow; ++i)
      value[k][i] = i < width && row < p.rows ? p.a[(begin + i) * p.ld + row] : 0;
  }
  for (int done = 0; done < width; ++done) {
    const Row column = begin + done;
    const std::uint64_t turn = turns + static_cast<std::uint64_t>(done) + 1;
    LuPick mine = no_pick();
#pragma unroll
    for (int k = 0; k < held; ++k) {
      const Row row = first + k * block_threads;
      if (row >= column && row < p.rows) mine = larger(mine, pick_of(value[k][0], row));
    }
    const LuPick best = block_pick(mine);
#pragma unroll
    for (int k = 0; k < held; ++k)
      if (best.row == first + k * block_threads) tell(space, blockIdx.x, turn, best, value[k]);
    if (first == column) tell(space, lu_most_picks, turn, best, value[0]);
    if (threadIdx.x < 32) learn(space, rows_of_block, begin, done, turn, pivot);
    __syncthreads();
    const double scale = 1 / pivot.elements[0][0];
#pragma unroll
    for (int k = 0; k < held; ++k)
      eliminate(pivot, first + k * block_threads, column, scale, value[k]);
    if (threadIdx.x != 0) continue;
    pivots.row[done] = pivot.row;
    if (blockIdx.x == 0) keep_pivot(p, column, pivot.row, pivot.elements[0][0]);
  }
#pragma unroll
  for (int k = 0; k < held; ++k) {
    const Row row = first + k * block_threads;
#pragma unroll
    for (int i = 0; i < lu_narrow; ++i) {
      const int place = (i + width) % lu_narrow;
      if (place < width && row < p.rows) p.a[(begin + place) * p.ld + row] = value[k][i];
    }
  }
  __syncthreads();
  exchange_beside(p, begin, width, pivots.row);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    space.columns = turns + static_cast<std::uint64_t>(width);
}

// ---- In two launches a column. ----

__global__ void __launch_bounds__(block_threads) lu_search(LuPanel p, Row column) {
  LuPick mine = no_pick();
  for (Row i = column + loop_begin(); i < p.rows; i += loop_step())
    mine = larger(mine, pick_of(p.a[column * p.ld + i], i));
  mine = block_pick(mine);
  if (threadIdx.x == 0) p.space->picks[blockIdx.x] = mine;
}

// One block: of `picks` picks the best becomes the pivot of that column.
__global__ void __launch_bounds__(block_threads)
    lu_exchange(LuPanel p, Row column, unsigned picks) {
  const Row pivot = block_pick(threadIdx.x < picks ? p.space->picks[threadIdx.x] : no_pick()).row;
  for (Row c = threadIdx.x; c < p.columns; c += block_threads) {
    double *own = p.a + c * p.ld + column, *other = p.a + c * p.ld + pivot;
    const double value = *own;
    *own = *other;
    *other = value;
  }
  __syncthreads();
  if (threadIdx.x == 0) keep_pivot(p, column, pivot, p.a[column * p.ld + column]);
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
  if (threadIdx.x == 0) p.space->picks[blockIdx.x] = mine;
}

unsigned picking_blocks(Row rows) {
  const unsigned blocks = blocks_of(rows);
  return blocks < lu_most_picks ? blocks : lu_most_picks;
}

int queue_by_column(const LuPanel& panel, Row begin, Row end, void* stream) {
  unsigned picks = picking_blocks(panel.rows - begin);
  if (const int e = launch<lu_search>({picks, block_threads}, stream, panel, begin)) return e;
  for (Row column = begin; column < end; ++column) {
    if (const int e = launch<lu_exchange>({1, block_threads}, stream, panel, column, picks))
      return e;
    picks = picking_blocks(panel.rows - column - 1);
    if (const int e = launch<lu_eliminate>({picks, block_threads}, stream, panel, column, end))
      return e;
  }
  return cudaSuccess;
}

// More blocks take longer to learn from, and more rows a thread take registers from the products
// beside. `last`: there is no kernel with more rows a thread.
template <int held>
int queue_if_held(const LuPanel& panel, Row begin, Row end, void* stream, bool last,
                  bool& held_all) {
  constexpr Row few = 32, rows_of_block = Row{held} * block_threads;
  const Row blocks = (panel.rows - begin + rows_of_block - 1) / rows_of_block;
  Row most = 0;
  if (const int e = most_together<lu_columns<held>>(block_threads, &most)) return e;
  held_all = blocks <= most && blocks <= (last ? Row{lu_most_picks} : few);
  if (!held_all) return cudaSuccess;
  return launch_together<lu_columns<held>>({static_cast<unsigned>(blocks), block_threads}, stream,
                                           panel, begin, end);
}

}  // namespace

static_assert(lu_most_picks <= block_threads && 2 * lu_narrow == 32);

int launch_lu_narrow(const LuPanel& panel, std::int64_t begin, std::int64_t end, void* stream) {
  if (end - begin > lu_narrow || end > panel.columns || end > panel.rows ||
      panel.rows >= UINT32_MAX)
    return cudaErrorInvalidValue;
  bool held_all = false;
  int e = queue_if_held<1>(panel, begin, end, stream, false, held_all);
  if (e == cudaSuccess && !held_all)
    e = queue_if_held<2>(panel, begin, end, stream, false, held_all);
  if (e == cudaSuccess && !held_all)
    e = queue_if_held<4>(panel, begin, end, stream, true, held_all);
  return e != cudaSuccess || held_all ? e : queue_by_column(panel, begin, end, stream);
}

}  // namespace cb::kernels
