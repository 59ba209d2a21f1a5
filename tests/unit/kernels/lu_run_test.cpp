// The kernels of LU against plain loops of the host.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/lu.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Columns of pseudo-random elements, `ld` apart; what is between the columns is NaN.
void fill_columns(DeviceArray<double>& a, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                  std::uint64_t seed) {
  std::fill(a.begin(), a.end(), std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      a[index(j * ld + i)] = lu_element(i, lu_column_seed(j, seed));
}

// Of columns begin … end, with exchanges in all columns of the panel.
std::vector<std::int64_t> factor_plainly(std::vector<double>& a, std::int64_t ld, std::int64_t rows,
                                         std::int64_t columns, std::int64_t begin,
                                         std::int64_t end) {
  std::vector<std::int64_t> pivots;
  for (std::int64_t j = begin; j < end; ++j) {
    std::int64_t best = j;
    for (std::int64_t i = j; i < rows; ++i)
      if (std::abs(a[index(j * ld + i)]) > std::abs(a[index(j * ld + best)])) best = i;
    pivots.push_back(best);
    for (std::int64_t c = 0; c < columns; ++c)
      std::swap(a[index(c * ld + j)], a[index(c * ld + best)]);
    const double scale = 1 / a[index(j * ld + j)];
    for (std::int64_t i = j + 1; i < rows; ++i) {
      const double factor = a[index(j * ld + i)] *= scale;
      for (std::int64_t c = j + 1; c < end; ++c)
        a[index(c * ld + i)] -= factor * a[index(c * ld + j)];
    }
  }
  return pivots;
}

bool same(const DeviceArray<double>& got, const std::vector<double>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (got[i] != wanted[i] && !(std::isnan(got[i]) && std::isnan(wanted[i]))) return false;
  return true;
}

}  // namespace

TEST_CASE("a matrix is filled column by column, and nothing between the columns") {
  for (const std::int64_t order : {1, 5, 300}) {
    CAPTURE(order);
    const std::int64_t ld = order + 3;
    in_every_order([&] {
      DeviceArray<double> a(index(ld * (order + 1)), "a");
      std::fill(a.begin(), a.end(), 7.0);
      REQUIRE(launch_lu_fill(a.data(), ld, order, 9, nullptr) == 0);
      bool right = true;
      for (std::int64_t j = 0; j <= order; ++j)
        for (std::int64_t i = 0; i < ld; ++i)
          right = right &&
                  a[index(j * ld + i)] == (i < order ? lu_element(i, lu_column_seed(j, 9)) : 7.0);
      CHECK(right);
    });
  }
}

TEST_CASE("a narrow panel: the largest element is the pivot, to the last bit") {
  // Held by one block and by two, with one, two and four rows a thread; 2,100 rows are not held.
  for (const std::int64_t rows : {1, 2, 31, 300, 520, 1500, 2100}) {
    for (const std::int64_t begin : {0, 9}) {
      const std::int64_t end = std::min({begin + lu_narrow, rows, std::int64_t{20}});
      if (begin >= end) continue;
      CAPTURE(rows);
      CAPTURE(begin);
      const std::int64_t ld = rows + 1, columns = std::min<std::int64_t>(rows, 20);
      in_every_order([&] {
        DeviceArray<double> a(index(ld * columns), "a");
        DeviceArray<std::int64_t> pivots(index(columns), "pivots");
        DeviceArray<LuSpace> space(1, "space");
        std::memset(space.data(), 0, sizeof(LuSpace));
        DeviceArray<std::int32_t> irregular(1, "irregular");
        irregular[0] = 0;
        fill_columns(a, ld, rows, columns, 3);
        std::vector<double> wanted(a.begin(), a.end());
        const auto chosen = factor_plainly(wanted, ld, rows, columns, begin, end);
        const LuPanel panel{a.data(),        ld, rows, columns, pivots.data(), space.data(),
                            irregular.data()};
        REQUIRE(launch_lu_narrow(panel, begin, end, nullptr) == 0);
        CHECK(same(a, wanted));
        CHECK(std::equal(chosen.begin(), chosen.end(), pivots.begin() + begin));
        CHECK(irregular[0] == 0);
      });
    }
  }
}

TEST_CASE("narrow panels one after the other, in the same space") {
  constexpr std::int64_t rows = 300, columns = 40;
  in_every_order([&] {
    DeviceArray<double> a(rows * columns, "a");
    DeviceArray<std::int64_t> pivots(columns, "pivots");
    DeviceArray<LuSpace> space(1, "space");
    std::memset(space.data(), 0, sizeof(LuSpace));
    DeviceArray<std::int32_t> irregular(1, "irregular");
    irregular[0] = 0;
    fill_columns(a, rows, rows, columns, 3);
    std::vector<double> wanted(a.begin(), a.end());
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 20}, {20, 35}, {35, 40}}) {
      const auto chosen = factor_plainly(wanted, rows, rows, columns, begin, end);
      REQUIRE(launch_lu_narrow(
                  {a.data(), rows, rows, columns, pivots.data(), space.data(), irregular.data()},
                  begin, end, nullptr) == 0);
      CHECK(std::equal(chosen.begin(), chosen.end(), pivots.begin() + begin));
      CHECK(space[0].columns == static_cast<std::uint64_t>(end));
    }
    CHECK(same(a, wanted));
  });
}

TEST_CASE("a panel with more rows than a launch has threads") {
  constexpr std::int64_t rows = 70'000, columns = 2;  // 256 blocks of 256 threads
  DeviceArray<double> a(index(rows * columns), "a");
  DeviceArray<std::int64_t> pivots(columns, "pivots");
  DeviceArray<LuSpace> space(1, "space");
  std::memset(space.data(), 0, sizeof(LuSpace));
  DeviceArray<std::int32_t> irregular(1, "irregular");
  irregular[0] = 0;
  fill_columns(a, rows, rows, columns, 3);
  a[rows - 2] = 7;      // the first pivot
  a[2 * rows - 3] = 9;  // the second
  std::vector<double> wanted(a.begin(), a.end());
  const auto chosen = factor_plainly(wanted, rows, rows, columns, 0, columns);
  CHECK(chosen == std::vector<std::int64_t>{rows - 2, rows - 3});
  REQUIRE(launch_lu_narrow(
              {a.data(), rows, rows, columns, pivots.data(), space.data(), irregular.data()}, 0,
              columns, nullptr) == 0);
  CHECK(same(a, wanted));
  CHECK(std::equal(chosen.begin(), chosen.end(), pivots.begin()));
}

TEST_CASE(
    "of equal elements the first row is the pivot; a NaN is one; neither nor zero is regular") {
  constexpr std::int64_t rows = 600;
  const auto pivot_of = [&](DeviceArray<double>& a, std::int32_t irregular_after) {
    DeviceArray<std::int64_t> pivots(1, "pivots");
    DeviceArray<LuSpace> space(1, "space");
    std::memset(space.data(), 0, sizeof(LuSpace));
    DeviceArray<std::int32_t> irregular(1, "irregular");
    irregular[0] = 0;
    const LuPanel panel{a.data(), rows, rows, 1, pivots.data(), space.data(), irregular.data()};
    REQUIRE(launch_lu_narrow(panel, 0, 1, nullptr) == 0);
    CHECK(irregular[0] == irregular_after);
    return pivots[0];
  };
  in_every_order([&] {
    DeviceArray<double> a(rows, "a");
    std::fill(a.begin(), a.end(), -2.0);
    a[550] = a[300] = 3;
    a[580] = -3;
    CHECK(pivot_of(a, 0) == 300);
    std::fill(a.begin(), a.end(), 5.0);
    a[401] = std::numeric_limits<double>::quiet_NaN();
    CHECK(pivot_of(a, 1) == 401);
    std::fill(a.begin(), a.end(), 0.0);
    CHECK(pivot_of(a, 1) == 0);
  });
}

TEST_CASE("a unit lower triangle is solved and inverted; its diagonal is not read") {
  for (const std::int64_t order : {1, 2, 33, 270}) {
    CAPTURE(order);
    const std::int64_t ldl = order + 2, columns = 3, inverted = std::min<std::int64_t>(order, 5);
    in_every_order([&] {
      DeviceArray<double> l(index(ldl * order), "l"), b(index(order * columns), "b"),
          inverse(index(order * inverted), "inverse");
      std::fill(l.begin(), l.end(), std::numeric_limits<double>::quiet_NaN());
      for (std::int64_t j = 0; j < order; ++j)
        for (std::int64_t i = j + 1; i < order; ++i)
          l[index(j * ldl + i)] = lu_element(i, lu_column_seed(j, 5)) / 4;
      fill_columns(b, order, order, columns, 6);
      std::vector<double> wanted(b.begin(), b.end());
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t j = 0; j < order; ++j)
          for (std::int64_t i = j + 1; i < order; ++i)
            wanted[index(c * order + i)] -= l[index(j * ldl + i)] * wanted[index(c * order + j)];
      REQUIRE(launch_lu_solve({l.data(), ldl, order, b.data(), order, columns}, false, nullptr) ==
              0);
      CHECK(same(b, wanted));
      REQUIRE(launch_lu_solve({l.data(), ldl, order, inverse.data(), order, inverted}, true,
                              nullptr) == 0);
      double most = 0;  // of L·L⁻¹ − 1
      for (std::int64_t c = 0; c < inverted; ++c)
        for (std::int64_t i = 0; i < order; ++i) {
          double sum = inverse[index(c * order + i)];
          for (std::int64_t j = 0; j < i; ++j)
            sum += l[index(j * ldl + i)] * inverse[index(c * order + j)];
          most = std::max(most, std::abs(sum - (i == c ? 1 : 0)));
        }
      CHECK(most < 1e-12);
    });
  }
  CHECK(launch_lu_solve({nullptr, 2000, 1025, nullptr, 2000, 1}, false, nullptr) == 1);
}

TEST_CASE("exchanges one after the other, and at once, bring each row to the same place") {
  const std::vector<std::vector<std::int64_t>> cases{
      {0},          {5},          {0, 1, 2},       {2, 2, 2},       {6, 6, 6},      {6, 5, 6},
      {1, 6, 2, 6}, {3, 3, 9, 9}, {9, 8, 9, 8, 9}, {4, 4, 4, 4, 4}, {7, 7, 7, 3, 7}};
  const std::int64_t rows = 10, columns = 3, ld = 11;
  for (const auto& pivots : cases) {
    const auto count = static_cast<std::int64_t>(pivots.size());
    in_every_order([&] {
      DeviceArray<std::int64_t> given(pivots.size(), "pivots"), from(pivots.size(), "from"),
          to(pivots.size(), "to"), with(pivots.size(), "with");
      DeviceArray<double> a(index(ld * columns), "a"), top(index(count * columns), "top");
      std::copy(pivots.begin(), pivots.end(), given.begin());
      fill_columns(a, ld, rows, columns, 8);
      const std::vector<double> before(a.begin(), a.end());
      std::vector<double> wanted(before);
      for (std::int64_t j = 0; j < count; ++j)
        for (std::int64_t c = 0; c < columns; ++c)
          std::swap(wanted[index(c * ld + j)], wanted[index(c * ld + pivots[index(j)])]);
      const LuMoves moves{from.data(), to.data(), with.data()};
      REQUIRE(launch_lu_plan(given.data(), count, moves, nullptr) == 0);
      REQUIRE(launch_lu_move({a.data(), ld, columns, count, top.data(), moves}, nullptr) == 0);
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t i = 0; i < rows; ++i) {
          CAPTURE(i);
          if (i < count) {
            CHECK(top[index(c * count + i)] == wanted[index(c * ld + i)]);
            CHECK(a[index(c * ld + i)] == before[index(c * ld + i)]);
          } else {
            CHECK(a[index(c * ld + i)] == wanted[index(c * ld + i)]);
          }
        }
    });
  }
}

TEST_CASE("drawn exchanges of a whole block") {
  constexpr std::int64_t count = 700, rows = 1500;
  DeviceArray<std::int64_t> pivots(count, "pivots"), from(count, "from"), to(count, "to"),
      with(count, "with");
  for (std::int64_t j = 0; j < count; ++j) {
    const auto drawn = pattern_word(static_cast<std::uint64_t>(j), 4);
    pivots[index(j)] = j + static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(rows - j));
  }
  std::vector<std::int64_t> wanted(rows);
  std::iota(wanted.begin(), wanted.end(), 0);
  for (std::int64_t j = 0; j < count; ++j)
    std::swap(wanted[index(j)], wanted[index(pivots[index(j)])]);
  REQUIRE(launch_lu_plan(pivots.data(), count, {from.data(), to.data(), with.data()}, nullptr) ==
          0);
  std::vector<std::int64_t> got(rows);
  std::iota(got.begin(), got.end(), 0);
  for (std::int64_t j = 0; j < count; ++j) {
    got[index(j)] = from[index(j)];
    if (to[index(j)] >= 0) got[index(to[index(j)])] = with[index(j)];
  }
  CHECK(got == wanted);
}

TEST_CASE("the upper triangle is solved block by block") {
  constexpr std::int64_t order = 310, ld = 320;
  in_every_order([&] {
    DeviceArray<double> u(index(ld * order), "u"), y(order, "y");
    fill_columns(u, ld, order, order, 2);
    for (std::int64_t i = 0; i < order; ++i) {
      u[index(i * ld + i)] += 20;
      y[index(i)] = static_cast<double>(i % 7) - 3;
    }
    std::vector<double> wanted(y.begin(), y.end());
    for (std::int64_t j = order - 1; j >= 0; --j) {
      wanted[index(j)] /= u[index(j * ld + j)];
      for (std::int64_t i = 0; i < j; ++i)
        wanted[index(i)] -= u[index(j * ld + i)] * wanted[index(j)];
    }
    for (std::int64_t end = order; end > 0;) {
      const std::int64_t begin = (end - 1) / 64 * 64;
      REQUIRE(launch_lu_back({u.data(), ld, begin, end, y.data()}, nullptr) == 0);
      end = begin;
    }
    CHECK(same(y, wanted));
  });
}

TEST_CASE("products and sums of rows of the matrix, made again") {
  for (const std::int64_t order : {1, 15, 16, 300}) {
    CAPTURE(order);
    in_every_order([&] {
      DeviceArray<double> x(index(order), "x"), product(index(order), "product"),
          sums(index(order), "sums"), parts(index(2 * lu_residual_parts * order), "parts");
      for (std::int64_t i = 0; i < order; ++i) x[index(i)] = static_cast<double>(i % 5) - 2.5;
      REQUIRE(launch_lu_residual({x.data(), order, 11, parts.data(), product.data(), sums.data()},
                                 nullptr) == 0);
      for (std::int64_t i = 0; i < order; ++i) {
        double wanted = 0, sum = 0;
        for (std::int64_t j = 0; j < order; ++j) {
          const double element = lu_element(i, lu_column_seed(j, 11));
          wanted += element * x[index(j)];
          sum += std::abs(element);
        }
        CHECK(product[index(i)] == doctest::Approx(wanted).epsilon(1e-11));
        CHECK(sums[index(i)] == doctest::Approx(sum).epsilon(1e-12));
      }
    });
  }
}
