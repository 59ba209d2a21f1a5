#include "core/samples.h"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

TEST_CASE("every sample is kept up to the bound, beyond it all are in a histogram") {
  Samples s(3);
  CHECK(s.empty());
  for (const double v : {1.0, 2.0, 3.0}) s.add(v);
  CHECK(s.histogram() == nullptr);
  CHECK(s.list().size() == 3);
  CHECK(s.summary().median == 2);
  s.add(4);
  REQUIRE(s.histogram() != nullptr);
  CHECK(s.list().empty());
  CHECK(s.count() == 4);
  s.add(5);
  CHECK(s.count() == 5);
  CHECK(s.summary().min == doctest::Approx(1).epsilon(0.005));
  CHECK(s.summary().max == doctest::Approx(5).epsilon(0.005));
}

TEST_CASE("a sample is a finite number, up to the largest that is one") {
  Samples s;
  s.add(kMaxSample);
  s.add(-kMaxSample);
  CHECK_THROWS_AS(s.add(std::nextafter(kMaxSample, INFINITY)), Error);
  CHECK_THROWS_AS(s.add(NAN), Error);
  CHECK_THROWS_AS(s.add(-INFINITY), Error);
  CHECK(s.count() == 2);
}

TEST_CASE("a rate of every time, in both forms") {
  Samples s(2);
  s.add(2);
  s.add(4);
  const auto inverse = [](double v) { return 1 / v; };
  const Samples few = s.mapped(inverse);
  CHECK(few.list().size() == 2);
  CHECK(few.list()[1] == 0.25);
  s.add(8);
  const Samples many = s.mapped(inverse);
  REQUIRE(many.histogram() != nullptr);
  CHECK(many.count() == 3);
  CHECK(many.summary().max == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("a list from a document is kept whole, whatever its length") {
  std::vector<double> values(Samples::kDefaultBound + 1, 2.0);
  values.back() = 3.0;
  const Samples samples = Samples::from_list(values);
  CHECK(samples.count() == values.size());
  CHECK(samples.histogram() == nullptr);
  CHECK(samples.list().back() == 3.0);
  CHECK_THROWS_AS(Samples::from_list({1.0, std::nan("")}), Error);
  CHECK_THROWS_AS(Samples::from_list({2 * kMaxSample}), Error);
}

TEST_CASE("of forgotten samples count and summary stay, and nothing is made of the rest") {
  for (const size_t bound : {size_t{10}, size_t{2}}) {  // as a list, and as a histogram
    Samples s(bound);
    for (const double v : {3.0, 1.0, 2.0}) s.add(v);
    const Summary before = s.summary();
    s.keep_summary();
    s.keep_summary();
    CHECK(s.has_only_summary());
    CHECK(s.count() == 3);
    CHECK_FALSE(s.empty());
    CHECK(s.summary().median == before.median);
    CHECK_THROWS_AS(s.list(), Error);
    CHECK_THROWS_AS(s.histogram(), Error);
    CHECK_THROWS_AS(s.add(1), Error);
    CHECK_THROWS_AS(s.mapped([](double v) { return v; }), Error);
  }
  Samples none;
  none.keep_summary();
  CHECK(none.empty());
  CHECK_FALSE(none.has_only_summary());
}
