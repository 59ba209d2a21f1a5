// The kernels of conjugate gradients against plain loops over the cube.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cg.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

struct OnCube {
  explicit OnCube(std::int64_t edge)
      : cube{edge},
        values(place(cg_entries * cube.all()), "values"),
        columns(place(cg_entries * cube.all()), "columns") {
    std::fill(values.begin(), values.end(), kNaN);
    REQUIRE(launch_cg_build(matrix(), nullptr) == 0);
  }
  CgMatrix matrix() { return {cube, values.data(), columns.data()}; }
  CgCube cube;
  DeviceArray<double> values;
  DeviceArray<std::int32_t> columns;
};

// The sum over the 27 points around (x, y, z), with the definition of the operator alone.
template <typename Values>
double operator_at(const CgCube& cube, const Values& v, const CgPoint& p) {
  double sum = 0;
  for (std::int64_t z = p.z - 1; z <= p.z + 1; ++z)
    for (std::int64_t y = p.y - 1; y <= p.y + 1; ++y)
      for (std::int64_t x = p.x - 1; x <= p.x + 1; ++x) {
        if (std::min({x, y, z}) < 0 || std::max({x, y, z}) >= cube.edge) continue;
        const bool self = x == p.x && y == p.y && z == p.z;
        sum += (self ? 26 : -1) * v[place(cube.number(x, y, z))];
      }
  return sum;
}

void draw(DeviceArray<double>& x, std::uint64_t seed) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = cg_random(static_cast<std::int64_t>(i), seed);
}

bool near(double got, double wanted) {
  return std::abs(got - wanted) <= 1e-12 * (1 + std::abs(wanted));
}

}  // namespace

TEST_CASE("the residual by the operator's definition is that of the error") {
  for (const std::int64_t edge : {2, 3, 8, 13}) {
    CAPTURE(edge);
    const CgCube cube{edge};
    DeviceArray<double> x(place(cube.all()), "x"), r(place(cube.all()), "r");
    draw(x, 3);
    std::vector<double> error(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) error[i] = 1 - x[i];
    in_every_order([&] {
      std::fill(r.begin(), r.end(), kNaN);
      REQUIRE(launch_cg_defect(cube, x.data(), r.data(), nullptr) == 0);
      for (std::int64_t i = 0; i < cube.all(); ++i)
        CHECK(near(r[place(i)], operator_at(cube, error, cg_point(cube, i))));
    });
  }
}

TEST_CASE("each point has a number of its own, colour by colour, and no neighbour of its colour") {
  for (const std::int64_t edge : {2, 3, 8, 13}) {
    CAPTURE(edge);
    const CgCube cube{edge};
    std::vector<int> seen(place(cube.all()));
    for (std::int64_t i = 0; i < cube.all(); ++i) {
      const CgPoint p = cg_point(cube, i);
      CHECK(std::max({p.x, p.y, p.z}) < edge);
      CHECK(cube.number(p.x, p.y, p.z) == i);
      ++seen[place(i)];
      const int colour = static_cast<int>(p.x % 2 + 2 * (p.y % 2) + 4 * (p.z % 2));
      CHECK(i >= cube.first(colour));
      CHECK(i < cube.first(colour) + cube.points(colour));
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) == cube.all());
    CHECK(cube.first(cg_colours) == cube.all());
  }
}

TEST_CASE(
    "the matrix is the operator: 27 points inside, 18 on a face, 12 on an edge, 8 in a corner") {
  for (const std::int64_t edge : {2, 5, 8}) {
    CAPTURE(edge);
    in_every_order([&] {
      OnCube on(edge);
      DeviceArray<double> x(place(on.cube.all()), "x"), y(place(on.cube.all()), "y");
      draw(x, 1);
      REQUIRE(launch_cg_multiply(on.matrix(), x.data(), y.data(), nullptr) == 0);
      bool right = true;
      std::int64_t entries = 0;
      for (std::int64_t i = 0; i < on.cube.all(); ++i) {
        right = right && near(y[place(i)], operator_at(on.cube, x, cg_point(on.cube, i)));
        for (int k = 0; k < cg_entries; ++k)
          entries += on.values[place(k * on.cube.all() + i)] != 0;
      }
      CHECK(right);
      CHECK(entries == (3 * edge - 2) * (3 * edge - 2) * (3 * edge - 2));
    });
  }
}

TEST_CASE("a sweep goes over the colours downwards and upwards") {
  for (const std::int64_t edge : {3, 8}) {
    CAPTURE(edge);
    in_every_order([&] {
      OnCube on(edge);
      DeviceArray<double> r(place(on.cube.all()), "r"), x(place(on.cube.all()), "x");
      draw(r, 2);
      draw(x, 3);
      std::vector<double> wanted(x.begin(), x.end());
      for (int turn = 0; turn < 2 * cg_colours; ++turn) {
        const int colour = turn < cg_colours ? cg_colours - 1 - turn : turn - cg_colours;
        for (std::int64_t i = on.cube.first(colour);
             i < on.cube.first(colour) + on.cube.points(colour); ++i) {
          const double others =
              operator_at(on.cube, wanted, cg_point(on.cube, i)) - 26 * wanted[place(i)];
          wanted[place(i)] = (r[place(i)] - others) / 26;
        }
      }
      REQUIRE(launch_cg_sweep(on.matrix(), r.data(), x.data(), nullptr) == 0);
      bool right = true;
      for (std::size_t i = 0; i < wanted.size(); ++i) right = right && near(x[i], wanted[i]);
      CHECK(right);
    });
  }
}

TEST_CASE("every second point of each axis is a point of the coarser cube") {
  for (const std::int64_t edge : {3, 4, 9}) {
    CAPTURE(edge);
    const CgCube coarse{edge}, fine{2 * edge};
    in_every_order([&] {
      DeviceArray<double> r(place(fine.all()), "r"), product(place(fine.all()), "product"),
          x(place(fine.all()), "x"), coarse_r(place(coarse.all()), "coarse_r"),
          coarse_x(place(coarse.all()), "coarse_x");
      draw(r, 4);
      draw(product, 5);
      draw(x, 6);
      draw(coarse_x, 7);
      const std::vector<double> before(x.begin(), x.end());
      const CgCoarsening c{coarse,          r.data(), product.data(),
                           coarse_r.data(), x.data(), coarse_x.data()};
      REQUIRE(launch_cg_restrict(c, nullptr) == 0);
      REQUIRE(launch_cg_prolong(c, nullptr) == 0);
      std::vector<double> wanted(before);
      bool right = true;
      for (std::int64_t i = 0; i < coarse.all(); ++i) {
        const CgPoint p = cg_point(coarse, i);
        const std::size_t at = place(fine.number(2 * p.x, 2 * p.y, 2 * p.z));
        right = right && coarse_r[place(i)] == r[at] - product[at];
        wanted[at] += coarse_x[place(i)];
      }
      CHECK(right);
      CHECK(std::equal(wanted.begin(), wanted.end(), x.begin()));
    });
  }
}

TEST_CASE("sums have the same bits in any order, and become what the iteration needs") {
  for (const std::int64_t count : {1, 4095, 4097, 9000}) {
    CAPTURE(count);
    double first = kNaN;
    in_every_order([&] {
      DeviceArray<double> x(place(count), "x"), y(place(count), "y"), parts(cg_parts, "parts");
      DeviceArray<CgScalars> scalars(1, "scalars");
      draw(x, 8);
      draw(y, 9);
      double wanted = 0;
      for (std::size_t i = 0; i < x.size(); ++i) wanted += x[i] * y[i];
      const CgDot dot{x.data(), y.data(), count, parts.data(), scalars.data()};
      scalars[0] = {.rz = kNaN, .rr = 3, .alpha = 4, .beta = 5, .dot = 6};
      REQUIRE(launch_cg_dot(dot, CgSum::dot, nullptr) == 0);
      const double sum = scalars[0].dot;
      CHECK(near(sum, wanted));
      if (std::isnan(first)) first = sum;
      CHECK(sum == first);
      CHECK(scalars[0].rr == 3);
      REQUIRE(launch_cg_dot(dot, CgSum::first_rz, nullptr) == 0);
      CHECK(scalars[0].rz == sum);
      CHECK(scalars[0].beta == 0);
      scalars[0].rz = 2;
      REQUIRE(launch_cg_dot(dot, CgSum::rz, nullptr) == 0);
      CHECK(scalars[0].rz == sum);
      CHECK(scalars[0].beta == sum / 2);
      scalars[0].rz = 7;
      REQUIRE(launch_cg_dot(dot, CgSum::alpha, nullptr) == 0);
      CHECK(scalars[0].alpha == 7 / sum);
      REQUIRE(launch_cg_dot(dot, CgSum::rr, nullptr) == 0);
      CHECK(scalars[0].rr == sum);
    });
  }
}

TEST_CASE("updates by factors that lie on the device, in place too") {
  constexpr std::int64_t count = 700;
  const std::pair<CgFactor, double> factors[] = {{CgFactor::one, 1},
                                                 {CgFactor::minus_one, -1},
                                                 {CgFactor::alpha, 0.25},
                                                 {CgFactor::minus_alpha, -0.25},
                                                 {CgFactor::beta, 3}};
  for (const auto& each : factors) {
    const CgFactor factor = each.first;
    const double by = each.second;
    in_every_order([&] {
      DeviceArray<double> x(count, "x"), y(count, "y"), w(count, "w");
      DeviceArray<CgScalars> scalars(1, "scalars");
      scalars[0] = {.rz = 0, .rr = 0, .alpha = 0.25, .beta = 3, .dot = 0};
      draw(x, 10);
      draw(y, 11);
      REQUIRE(launch_cg_update({x.data(), y.data(), w.data(), count, scalars.data()}, factor,
                               nullptr) == 0);
      bool right = true;
      for (std::size_t i = 0; i < count; ++i) right = right && near(w[i], x[i] + by * y[i]);
      CHECK(right);
      REQUIRE(launch_cg_update({x.data(), y.data(), y.data(), count, scalars.data()}, factor,
                               nullptr) == 0);
      CHECK(std::equal(w.begin(), w.end(), y.begin()));
    });
  }
}

TEST_CASE("vectors are set, and drawn") {
  in_every_order([&] {
    DeviceArray<double> x(300, "x");
    REQUIRE(launch_cg_set(x.data(), 300, 2.5, nullptr) == 0);
    CHECK(std::count(x.begin(), x.end(), 2.5) == 300);
    REQUIRE(launch_cg_random(x.data(), 300, 12, nullptr) == 0);
    bool right = true;
    for (std::size_t i = 0; i < 300; ++i)
      right = right && x[i] == cg_random(static_cast<std::int64_t>(i), 12) && std::abs(x[i]) <= 1;
    CHECK(right);
  });
}
