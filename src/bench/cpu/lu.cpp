#include "bench/cpu/lu.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "bench/cpu/lu_panel.h"
#include "bench/cpu/random.h"
#include "model/hpl.h"

namespace cb {
namespace {

constexpr size_t kWidest = 1024, kNarrowest = 128;  // columns of a tile
constexpr int64_t kPageDoubles = 512;               // a page of 4 KiB

// One matrix while it is factored. b is its last column.
struct Factoring {
  ColumnBlock all;  // order rows, order + 1 columns
  int64_t block = 0;
  const LuLibrary& library;
  std::vector<int64_t> pivots;  // of each panel, counted from its first row
};

// From row and column k on: `columns` columns and all rows below.
ColumnBlock from(const Factoring& f, int64_t k, int64_t column, int64_t columns) {
  return {f.all.column(column) + k, f.all.rows - k, columns, f.all.distance};
}

int64_t width_at(const Factoring& f, int64_t k) { return std::min(f.block, f.all.rows - k); }

bool factor_at(Factoring& f, int64_t k) {
  return factor_panel(from(f, k, k, width_at(f, k)), f.library, f.pivots.data() + k);
}

// Applies the panel at k to everything to the right of it. The thread that updates the next panel
// also factors it, while the others go on with the rest: this is the look-ahead.
bool step_at(Factoring& f, int64_t k, Team& team) {
  const int64_t width = width_at(f, k);
  const int64_t next = k + width;
  const int64_t next_width = next < f.all.rows ? width_at(f, next) : 0;
  const std::vector<Range> tiles = lu_tiles(static_cast<size_t>(next + next_width),
                                            static_cast<size_t>(f.all.columns), team.size());
  const ColumnBlock panel = from(f, k, k, width);
  const auto update = [&](int64_t begin, int64_t columns) {
    update_columns(panel, width, f.pivots.data() + k, from(f, k, begin, columns), f.library);
  };
  std::atomic<bool> regular{true};
  std::atomic<size_t> taken{0};  // 0 is the next panel, i the tile i-1
  team.run([&](int) {
    for (size_t i = taken++; i <= tiles.size(); i = taken++) {
      if (i > 0) {
        update(static_cast<int64_t>(tiles[i - 1].begin), static_cast<int64_t>(tiles[i - 1].size()));
      } else if (next_width > 0) {
        update(next, next_width);
        if (!factor_at(f, next)) regular = false;
      }
    }
  });
  return regular;
}

// Solves U·x = y from the last block to the first; y is the last column. A thread takes rows.
void back_substitute(const Factoring& f, Team& team) {
  double* y = f.all.column(f.all.columns - 1);
  for (int64_t end = f.all.rows; end > 0;) {
    const int64_t begin = (end - 1) / f.block * f.block;
    for (int64_t j = end - 1; j >= begin; --j) {
      const double* u = f.all.column(j);
      y[j] /= u[j];
      for (int64_t i = begin; i < j; ++i) y[i] -= u[i] * y[j];
    }
    team.run([&](int index) {
      const Range mine = share_of_items(static_cast<size_t>(begin), team.size(), index, 64);
      for (int64_t j = begin; j < end; ++j) {
        const double* u = f.all.column(j);
        for (size_t i = mine.begin; i < mine.end; ++i) y[i] -= u[i] * y[j];
      }
    });
    end = begin;
  }
}

}  // namespace

int64_t lu_bytes(int64_t order) {
  return (order + kPageDoubles) * (order + 1) * static_cast<int64_t>(sizeof(double));
}

int64_t lu_block(int64_t order) {
  if (order < 2000) return 64;
  return order < 8000 ? 128 : 256;
}

std::vector<Range> lu_tiles(size_t begin, size_t end, int threads) {
  std::vector<Range> out;
  const auto parts = static_cast<size_t>(4 * threads);
  while (begin < end) {
    const size_t wanted = (end - begin) / parts / 64 * 64;
    const size_t width = std::min(std::clamp(wanted, kNarrowest, kWidest), end - begin);
    out.push_back({begin, begin + width});
    begin += width;
  }
  return out;
}

LinearSystem::LinearSystem(int64_t order, uint64_t seed, Team& team)
    : order_(order), rows_((order + 7) / 8 * 8), seed_(seed) {
  if (rows_ % kPageDoubles == 0) rows_ += 8;
  data_ = make_pages<double>(static_cast<size_t>(rows_ * (order + 1)));
  fill(team);
}

void LinearSystem::fill_column(int64_t column, double* to) const {
  Random random(seed_, static_cast<uint64_t>(column));
  for (int64_t i = 0; i < order_; ++i) to[i] = random.unit() - 0.5;
}

void LinearSystem::fill(Team& team) {
  team.run([&](int index) {
    const Range mine = share_of_items(static_cast<size_t>(order_) + 1, team.size(), index);
    for (size_t j = mine.begin; j < mine.end; ++j)
      fill_column(static_cast<int64_t>(j), column(static_cast<int64_t>(j)));
  });
}

std::vector<double> LinearSystem::solve(int64_t block, const LuLibrary& library, Team& team,
                                        const std::function<void()>& moved) {
  Factoring f{.all = {data_.get(), order_, order_ + 1, rows_},
              .block = block,
              .library = library,
              .pivots = std::vector<int64_t>(static_cast<size_t>(order_))};
  bool regular = factor_at(f, 0);
  for (int64_t k = 0; regular && k < order_; k += block) {
    regular = step_at(f, k, team);
    moved();
  }
  if (!regular)
    return std::vector<double>(static_cast<size_t>(order_),
                               std::numeric_limits<double>::quiet_NaN());
  back_substitute(f, team);
  const double* x = column(order_);
  return {x, x + order_};
}

double LinearSystem::residual(const std::vector<double>& x, Team& team) const {
  const auto n = static_cast<size_t>(order_);
  const auto threads = static_cast<size_t>(team.size());
  // Of each thread: A·x and the sum of absolute values of each row, over its columns.
  std::vector<std::vector<double>> products(threads), sums(threads);
  team.run([&](int index) {
    auto& product = products[static_cast<size_t>(index)];
    auto& sum = sums[static_cast<size_t>(index)];
    product.assign(n, 0);
    sum.assign(n, 0);
    std::vector<double> a(n);
    const Range mine = share_of_items(n, team.size(), index);
    for (size_t j = mine.begin; j < mine.end; ++j) {
      fill_column(static_cast<int64_t>(j), a.data());
      for (size_t i = 0; i < n; ++i) product[i] += a[i] * x[j];
      for (size_t i = 0; i < n; ++i) sum[i] += std::abs(a[i]);
    }
  });
  std::vector<double> b(n);
  fill_column(order_, b.data());
  for (size_t k = 1; k < threads; ++k) {  // in the order of the threads
    for (size_t i = 0; i < n; ++i) {
      products[0][i] += products[k][i];
      sums[0][i] += sums[k][i];
    }
  }
  return hpl_residual({.product = products[0], .sums = sums[0], .b = b, .x = x});
}

}  // namespace cb
