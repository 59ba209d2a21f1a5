#include "campaign/pool.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

Document document(int64_t size, Samples samples) {
  Record r{.case_name = "fake"};
  r.params.set("size", size);
  const size_t e = r.entity({"n1", "host", ""});
  r.metrics.push_back(
      {.name = "rate", .unit = "bytes_per_second", .entity = e, .samples = std::move(samples)});
  Document d;
  d.records = {std::move(r)};
  return d;
}

}  // namespace

TEST_CASE("the samples of two attempts stand together, and that is said") {
  Document fresh = document(1, {3, 4});
  pool_samples(fresh, document(1, {1, 2}));
  const Samples& s = fresh.records[0].metrics[0].samples;
  CHECK(std::vector<double>(s.raw().begin(), s.raw().end()) == std::vector<double>{1, 2, 3, 4});
  REQUIRE(fresh.records[0].notes.size() == 1);
  pool_samples(fresh, document(1, {0}));
  CHECK(fresh.records[0].metrics[0].samples.count() == 5);
  CHECK(fresh.records[0].notes.size() == 1);
}

TEST_CASE("another point of parameters is another measurement") {
  Document fresh = document(1, {3, 4});
  pool_samples(fresh, document(2, {1, 2}));
  CHECK(fresh.records[0].metrics[0].samples.count() == 2);
  CHECK(fresh.records[0].notes.empty());
}

TEST_CASE("beyond the bound they are counted in a histogram") {
  Samples many(4);
  for (int i = 1; i <= 10; ++i) many.add(i);
  REQUIRE(many.histogram() != nullptr);
  Document fresh = document(1, {1, 2, 3});
  pool_samples(fresh, document(1, many));
  const Samples& s = fresh.records[0].metrics[0].samples;
  REQUIRE(s.histogram() != nullptr);
  CHECK(s.count() == 13);
  CHECK(s.summary().min == 1);
  CHECK(s.summary().max == 10);
}
