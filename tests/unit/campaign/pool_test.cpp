#include "campaign/pool.h"

#include <functional>
#include <map>

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

TEST_CASE("an attempt that left a figure out takes back none, unless its data are wrong") {
  const auto names = [](const std::function<void(Record&)>& change_fresh) {
    Document fresh = document(1, {3, 4}), earlier = document(1, {1, 2});
    Record& before = earlier.records[0];
    before.metrics.push_back({.name = "latency",
                              .unit = "seconds",
                              .entity = before.entity({"n2", "host", ""}),
                              .samples = {9}});
    change_fresh(fresh.records[0]);
    pool_samples(fresh, earlier);
    std::vector<std::string> out;
    for (const Metric& m : fresh.records[0].metrics)
      out.push_back(m.name + " of " + fresh.records[0].entities.at(m.entity).host);
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(names([](Record&) {}) == Names{"rate of n1", "latency of n2"});
  CHECK(names([](Record& r) { r.checks.push_back({.name = "data", .passed = false}); }) ==
        Names{"rate of n1"});
  CHECK(names([](Record& r) {
          r.checks.push_back({.name = "straggler", .passed = false, .finding = true});
        }) == Names{"rate of n1", "latency of n2"});
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

TEST_CASE("a figure is pooled with the same one only: name, entity, unit and point") {
  const auto pooled_count = [](const std::function<void(Record&)>& change) {
    Document fresh = document(1, {1, 2}), earlier = document(1, {3, 4});
    change(earlier.records[0]);
    pool_samples(fresh, earlier);
    return samples_of(fresh).size();
  };
  CHECK(pooled_count([](Record&) {}) == 4);
  CHECK(pooled_count([](Record& r) { r.metrics[0].name = "other"; }) == 2);
  CHECK(pooled_count([](Record& r) { r.metrics[0].unit = "other"; }) == 2);
  CHECK(pooled_count([](Record& r) { r.entities[0].host = "other"; }) == 2);
  CHECK(pooled_count([](Record& r) { r.params.set("size", int64_t{9}); }) == 2);
  CHECK(pooled_count([](Record& r) { r.case_name = "other"; }) == 2);
  CHECK(pooled_count([](Record& r) { r.outcome = Errored{"n1", "gone"}; }) == 2);
}

TEST_CASE("of ceilings only measured ones are exchanged, and the lower of them stays below") {
  const auto ceiling = [](const Ceiling& fresh_one, const Ceiling& earlier_one) {
    Document fresh = document(1, {3}), earlier = document(1, {4});
    fresh.records[0].metrics[0].ceiling = fresh_one;
    earlier.records[0].metrics[0].ceiling = earlier_one;
    pool_samples(fresh, earlier);
    return fresh.records[0].metrics[0].ceiling->value;
  };
  CHECK(ceiling({20, "measured here"}, {10, "measured here"}) == 20);
  CHECK(ceiling({10, "by its clock"}, {20, "by its clock"}) == 10);
  CHECK(ceiling({10, "by its clock"}, {20, "measured here"}) == 10);
  CHECK(ceiling({10, "measured here"}, {20, "by its clock"}) == 10);
}

TEST_CASE(
    "with the figures that stay their load is kept, and what else was counted stays as it is") {
  Document fresh = busy(document(1, {3, 4}), 5), earlier = busy(document(1, {100, 101}), 0.1);
  const auto count = [](Document& d, double after) {
    d.records[0].telemetry.deltas.push_back({"errors", "count", 0, 0, after});
  };
  count(fresh, 7);
  count(earlier, 8);
  pool_samples(fresh, earlier);
  std::map<std::string, std::vector<double>> deltas;
  for (const Delta& d : fresh.records[0].telemetry.deltas) deltas[d.name].push_back(d.after);
  CHECK(deltas.at("errors") == std::vector<double>{7});
  CHECK(deltas.at(std::string(kOthersCpuSeconds)) == std::vector<double>{0.1});
  CHECK(deltas.at(std::string(kHostCpuSeconds)) == std::vector<double>{10});
  CHECK(samples_of(fresh) == std::vector<double>{100, 101});
}
