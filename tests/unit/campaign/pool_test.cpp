#include "campaign/pool.h"

#include <doctest/doctest.h>

#include "model/disturbance.h"

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
  CHECK(std::vector<double>(s.list().begin(), s.list().end()) == std::vector<double>{1, 2, 3, 4});
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

namespace {

Document busy(Document d, double others) {
  Record& r = d.records[0];
  const size_t e = r.entity({"n1", "host", ""});
  r.telemetry.deltas.push_back({std::string(kOthersCpuSeconds), "seconds", e, 0, others});
  r.telemetry.deltas.push_back({std::string(kHostCpuSeconds), "seconds", e, 0, 10});
  return d;
}

std::vector<double> samples_of(const Document& d) {
  const Samples& s = d.records[0].metrics[0].samples;
  return {s.list().begin(), s.list().end()};
}

}  // namespace

TEST_CASE("each attempt keeps a summary of its own") {
  Document second = document(1, {3, 4});
  pool_samples(second, document(1, {1}));
  Document third = document(1, {5, 6, 7});
  pool_samples(third, second);
  const auto& attempts = third.records[0].metrics[0].attempts;
  REQUIRE(attempts.size() == 3);
  CHECK(attempts[0].median == 1);
  CHECK(attempts[1].median == 3.5);
  CHECK(attempts[2].median == 6);
  const Document read = parse_document(to_json_text(third), "test");
  CHECK(read.records[0].metrics[0].attempts[2].median == 6);
}

TEST_CASE("attempts that do not add up to the samples are refused") {
  Document d = document(1, {3, 4});
  pool_samples(d, document(1, {1}));
  d.records[0].metrics[0].attempts[0].n = 7;
  CHECK_THROWS(parse_document(to_json_text(d), "test"));
}

TEST_CASE("where other work disturbed one of two attempts, the other one stays") {
  Document fresh = document(1, {100, 101});
  pool_samples(fresh, busy(document(1, {3, 4}), 5));
  CHECK(samples_of(fresh) == std::vector<double>{100, 101});
  CHECK_FALSE(disturbed(fresh.records[0]));

  Document disturbed_fresh = busy(document(1, {3, 4}), 5);
  pool_samples(disturbed_fresh, document(1, {100, 101}));
  CHECK(samples_of(disturbed_fresh) == std::vector<double>{100, 101});
  CHECK_FALSE(disturbed(disturbed_fresh.records[0]));
  CHECK(disturbed_fresh.records[0].notes.size() == 1);

  Document both = busy(document(1, {3, 4}), 5);
  pool_samples(both, busy(document(1, {1, 2}), 5));
  CHECK(samples_of(both) == std::vector<double>{1, 2, 3, 4});
  CHECK(disturbed(both.records[0]));
}

TEST_CASE("of two measured ceilings the higher one bounds both") {
  Document fresh = document(1, {3});
  Document earlier = document(1, {4});
  fresh.records[0].metrics[0].ceiling = Ceiling{10, "measured in this record"};
  earlier.records[0].metrics[0].ceiling = Ceiling{20, "measured in this record"};
  pool_samples(fresh, earlier);
  CHECK(fresh.records[0].metrics[0].ceiling->value == 20);
}
