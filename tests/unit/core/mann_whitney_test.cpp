#include "core/mann_whitney.h"

#include <numeric>

#include <doctest/doctest.h>

using namespace cb;

namespace {

MannWhitney test(std::vector<double> a, std::vector<double> b) { return mann_whitney(a, b); }

std::vector<double> range(int first, int last) {
  std::vector<double> out(static_cast<size_t>(last - first + 1));
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

TEST_CASE("exact without ties, counted by hand") {
  // Of the 20 divisions of six ranks into three and three, one has U 0 and one has U 9.
  CHECK(test({1, 2, 3}, {4, 5, 6}).u == 0);
  CHECK(test({1, 2, 3}, {4, 5, 6}).p == doctest::Approx(0.1));
  CHECK(test({4, 5, 6}, {1, 2, 3}).u == 9);
  CHECK(test({4, 5, 6}, {1, 2, 3}).p == doctest::Approx(0.1));
  // U 1 adds one division on either side.
  CHECK(test({1, 2, 4}, {3, 5, 6}).p == doctest::Approx(0.2));
  CHECK(test({1}, {2}).p == 1);
  CHECK(test({1, 2, 3}, {4, 5, 6}).exact);
}

TEST_CASE("exact, published") {
  // Mann and Whitney 1947, table I: n = m = 5, U = 2 has 4 of 252 divisions below or equal.
  CHECK(test({1, 2, 3, 4, 7}, {5, 6, 8, 9, 10}).u == 2);
  CHECK(test({1, 2, 3, 4, 7}, {5, 6, 8, 9, 10}).p == doctest::Approx(8.0 / 252));
  // SciPy's manual of mannwhitneyu: ages at diagnosis, U = 17, p = 1/9.
  const MannWhitney ages = test({19, 22, 16, 29, 24}, {20, 11, 17, 12});
  CHECK(ages.u == 17);
  CHECK(ages.p == doctest::Approx(0.1111111111111111).epsilon(1e-12));
}

TEST_CASE("exact with ties, counted by hand") {
  // Midranks 1.5 1.5 3.5 3.5 5.5 5.5: two divisions are as low, two as high, of 20.
  const MannWhitney t = test({1, 1, 2}, {2, 3, 3});
  CHECK(t.u == 0.5);
  CHECK(t.p == doctest::Approx(0.2));
  CHECK(test({7, 7, 7}, {7, 7}).p == 1);
  CHECK(test({7, 7, 7}, {7, 7}).u == 3);
}

TEST_CASE("normal approximation with ties and continuity, computed by hand") {
  // U = 50, mean 200, variance 400/12 (41 - 60/1560) = 1365.38, z = 149.5/36.951.
  const MannWhitney t = test(range(1, 20), range(11, 30));
  CHECK_FALSE(t.exact);
  CHECK(t.u == 50);
  CHECK(t.p == doctest::Approx(5.2125e-5).epsilon(1e-3));
  CHECK(test(std::vector<double>(20, 3), std::vector<double>(20, 3)).p == 1);
  CHECK(test(range(1, 40), range(1, 40)).p == 1);
}

TEST_CASE("both ways agree where they meet") {
  const double exact = test(range(1, 15), range(8, 22)).p;
  const double normal = test(range(1, 16), range(8, 22)).p;  // 31 samples
  CHECK(exact == doctest::Approx(normal).epsilon(0.35));
}

TEST_CASE("what few samples can tell at best") {
  CHECK(smallest_p(3, 3) == doctest::Approx(0.1));
  CHECK(smallest_p(5, 5) == doctest::Approx(2.0 / 252));
  CHECK(smallest_p(1, 1) == 1);
  CHECK(smallest_p(2000, 2000) >= 0);
}

TEST_CASE("Benjamini and Hochberg") {
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005};
  const std::vector<double> adjusted = benjamini_hochberg(p);
  CHECK(adjusted[0] == doctest::Approx(0.02));
  CHECK(adjusted[1] == doctest::Approx(0.04));
  CHECK(adjusted[2] == doctest::Approx(0.04));
  CHECK(adjusted[3] == doctest::Approx(0.02));
  CHECK(benjamini_hochberg({}).empty());
}
