#include "campaign/attempts.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

Record point(int64_t size, std::vector<double> samples, bool passed = true) {
  Record r{.case_name = "fake"};
  r.params.set("size", size);
  const size_t e = r.entity({"n1", "gpu", "3"});
  Samples s;
  for (const double v : samples) s.add(v);
  if (passed)
    r.metrics.push_back({.name = "rate", .unit = "bytes_per_second", .entity = e, .samples = s});
  r.checks.push_back({.name = "data", .passed = passed, .entity = e, .detail = "1 of 9 differ"});
  return r;
}

Document document(std::vector<Record> records) {
  Document d;
  d.records = std::move(records);
  return d;
}

std::vector<std::string> failed(const Document& d) {
  std::vector<std::string> out;
  for (const Record& r : d.records) {
    for (const Check& c : r.checks) {
      if (!c.passed) out.push_back(entity_name(r.entities.at(c.entity)) + ": " + c.detail.text());
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a failed check of an earlier attempt stands beside the later figures") {
  const Document d = join_attempts({{1, false, document({point(1, {}, false), point(2, {5})})},
                                    {2, true, document({point(1, {3}), point(2, {7})})}});
  REQUIRE(d.records.size() == 2);
  CHECK(failed(d) == std::vector<std::string>{"n1:3: in attempt 1: 1 of 9 differ"});
  CHECK(d.records[0].metrics.at(0).samples.count() == 1);
  CHECK(d.records[1].metrics.at(0).samples.count() == 2);
}

TEST_CASE("a point that only an earlier attempt reached keeps its failed check and no number") {
  const Document d = join_attempts(
      {{1, false, document({point(4, {}, false)})}, {3, false, document({point(1, {3})})}});
  REQUIRE(d.records.size() == 2);
  CHECK(d.records[1].metrics.empty());
  CHECK(failed(d) == std::vector<std::string>{"n1:3: in attempt 1: 1 of 9 differ"});
}

TEST_CASE("the inventory is that of the attempt that was read with it, or the last one's") {
  Document with, without, later;
  with.hosts.push_back({.host = "n1", .parts = {}});
  later.hosts.push_back({.host = "n2", .parts = {}});
  CHECK(join_attempts({{1, false, with}, {2, true, without}}).hosts.at(0).host == "n1");
  CHECK(join_attempts({{1, false, with}, {2, true, later}}).hosts.at(0).host == "n2");
  CHECK(join_attempts({{1, false, without}, {2, true, without}}).hosts.empty());
}

TEST_CASE("errored and skipped records of every attempt stay, with its number") {
  Record errored{.case_name = "fake", .outcome = Errored{"n1", "fell off the bus"}};
  Record skipped{.case_name = "fake", .outcome = Skipped{"no GPU"}};
  const Document d = join_attempts({{1, false, document({errored})},
                                    {2, false, document({skipped})},
                                    {3, false, document({point(1, {3})})}});
  REQUIRE(d.records.size() == 3);
  CHECK(std::get<Errored>(d.records[1].outcome).what == "in attempt 1: fell off the bus");
  CHECK(std::get<Skipped>(d.records[2].outcome).reason == "in attempt 2: no GPU");
  CHECK(bad_news(d).errored == 1);
  CHECK(bad_news(d).skipped == 1);
  CHECK(bad_news(d).failed_checks == 0);
}

TEST_CASE("figures are pooled only with the attempts that the last one adds to") {
  const Document d = join_attempts({{1, false, document({point(1, {1})})},
                                    {2, false, document({point(1, {2})})},
                                    {3, true, document({point(1, {3})})}});
  const Samples& s = d.records.at(0).metrics.at(0).samples;
  CHECK(std::vector<double>(s.list().begin(), s.list().end()) == std::vector<double>{2, 3});
  CHECK(first_that_counts({{.adds = false}, {.adds = false}, {.adds = true}}) == 1);
  CHECK(first_that_counts({{.adds = false}}) == 0);
  CHECK(first_that_counts({}) == 0);
}
