#include "core/mann_whitney.h"

#include <vector>

#include <doctest/doctest.h>

using namespace cb;

namespace {

double p(const std::vector<double>& a, const std::vector<double>& b) {
  return exact_mann_whitney(a, b).value();
}

}  // namespace

TEST_CASE("exact p without ties, counted by hand") {
  // Of the 20 divisions of six ranks into three and three, one is the lowest and one the highest.
  CHECK(p({1, 2, 3}, {4, 5, 6}) == doctest::Approx(0.1));
  CHECK(p({4, 5, 6}, {1, 2, 3}) == doctest::Approx(0.1));
  // One exchange adds one division on either side.
  CHECK(p({1, 2, 4}, {3, 5, 6}) == doctest::Approx(0.2));
  CHECK(p({1}, {2}) == 1);
}

TEST_CASE("exact p, published") {
  // Mann and Whitney 1947, table I: n = m = 5, U = 2 has 4 of 252 divisions below or equal.
  CHECK(p({1, 2, 3, 4, 7}, {5, 6, 8, 9, 10}) == doctest::Approx(8.0 / 252));
  // SciPy's manual of mannwhitneyu: ages at diagnosis, U = 17, p = 1/9.
  CHECK(p({19, 22, 16, 29, 24}, {20, 11, 17, 12}) ==
        doctest::Approx(0.1111111111111111).epsilon(1e-12));
}

TEST_CASE("exact p with ties, counted by hand") {
  // Midranks 1.5 1.5 3.5 3.5 5.5 5.5: two divisions are as low, two as high, of 20.
  CHECK(p({1, 1, 2}, {2, 3, 3}) == doctest::Approx(0.2));
  CHECK(p({7, 7, 7}, {7, 7}) == 1);
}

TEST_CASE("at most 30 samples, and at least one on each side") {
  CHECK(exact_mann_whitney(std::vector<double>(15, 1), std::vector<double>(15, 2)));
  CHECK_FALSE(exact_mann_whitney(std::vector<double>(16, 1), std::vector<double>(15, 2)));
  CHECK_FALSE(exact_mann_whitney({}, std::vector<double>(3, 2)));
}

TEST_CASE("what few samples can tell at best") {
  CHECK(smallest_p(3, 3) == doctest::Approx(0.1));
  CHECK(smallest_p(5, 5) == doctest::Approx(2.0 / 252));
  CHECK(smallest_p(1, 1) == 1);
  CHECK(smallest_p(2000, 2000) < 1e-100);
}
