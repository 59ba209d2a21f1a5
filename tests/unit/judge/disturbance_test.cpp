#include "model/disturbance.h"

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

void add_load(Record& r, const std::string& host, double others, double capacity) {
  const size_t e = r.entity({host, "host", ""});
  r.telemetry.deltas.push_back({std::string(kOthersCpuSeconds), "seconds", e, 0, others});
  r.telemetry.deltas.push_back({std::string(kHostCpuSeconds), "seconds", e, 0, capacity});
}

// One host with one value, where others took a share of the processors.
Campaign busy(double value, double share, const std::string& unit = "bytes_per_second") {
  Campaign c = campaign({{"n1", value}});
  Record& r = c.jobs[0].document->records[0];
  r.metrics[0].unit = unit;
  add_load(r, "n1", share * 20, 20);
  return c;
}

const Profile kAtLeast100 = profile({metric_criterion({.metric = "bytes_per_second", .min = 100})});

// A metric that was measured several times, one sample each.
Campaign attempts(const std::vector<double>& values) {
  Campaign c = campaign({{"n1", values[0]}});
  Metric& m = c.jobs[0].document->records[0].metrics[0];
  m.samples = Samples();
  for (const double v : values) {
    m.samples.add(v);
    m.attempts.push_back(summarise(std::vector<double>{v}));
  }
  return c;
}

}  // namespace

TEST_CASE("the share of others is of one host, or of the worst") {
  Record r = record({{{"n1", "host", ""}, 1}});
  CHECK_FALSE(share_of_others(r));
  add_load(r, "n1", 1, 20);
  add_load(r, "n2", 10, 20);
  CHECK(share_of_others(r, "n1") == doctest::Approx(0.05));
  CHECK(share_of_others(r, "n2") == doctest::Approx(0.5));
  CHECK(share_of_others(r) == doctest::Approx(0.5));
  CHECK_FALSE(share_of_others(r, "n3"));
  CHECK_FALSE(disturbed(r, "n1"));
  CHECK(disturbed(r));
}

TEST_CASE("a low figure of a busy host is inconclusive, and of an idle one a failure") {
  const CriterionVerdict v = verdict(busy(50, 0.4), kAtLeast100);
  CHECK(v.state == State::incomplete);
  CHECK(v.reason.find("other work took 40 % of the processors of n1") != std::string::npos);
  CHECK(verdict(busy(50, kDisturbedShare), kAtLeast100).state == State::fail);
  CHECK(verdict(busy(50, kDisturbedShare + 1e-9), kAtLeast100).state == State::incomplete);
  CHECK(verdict(campaign({{"n1", 50}}), kAtLeast100).state == State::fail);
}

TEST_CASE("other work does not take a pass away, nor excuse counts, states and wrong data") {
  CHECK(verdict(busy(100, 0.9), kAtLeast100).state == State::pass);
  CHECK(verdict(busy(50, 0.9, "count"), kAtLeast100).state == State::fail);
  Campaign wrong = busy(50, 0.9);
  wrong.jobs[0].document->records[0].checks[0].passed = false;
  CHECK(verdict(wrong, kAtLeast100).state == State::fail);
}

TEST_CASE("another host's load is no excuse, but in a figure of several hosts it is") {
  Campaign c = campaign({{"n1", 50}});
  add_load(c.jobs[0].document->records[0], "n2", 10, 20);
  CHECK(verdict(c, kAtLeast100).state == State::fail);
  c.jobs[0].document->records[0].entities[0].peer = "n2";
  CHECK(verdict(c, kAtLeast100).state == State::incomplete);
}

TEST_CASE("only what every measurement finds fails") {
  CHECK(verdict(attempts({50, 60, 55, 50}), kAtLeast100).state == State::fail);
  const CriterionVerdict v = verdict(attempts({50, 60, 100, 50}), kAtLeast100);
  CHECK(v.state == State::incomplete);
  CHECK(v.reason.find("1 of 4 measurements of n1:0 meet ≥ 100 B/s") != std::string::npos);
  CHECK(verdict(attempts({50, 120, 130}), kAtLeast100).state == State::pass);
}

TEST_CASE("a host that had no processor time to give has no share, and others count as before") {
  Record r = record({{{"n1", "host", ""}, 1}});
  add_load(r, "n1", 5, 0);
  CHECK_FALSE(share_of_others(r, "n1"));
  CHECK_FALSE(share_of_others(r));
  CHECK_FALSE(disturbed(r));
  add_load(r, "n2", 1, 20);
  CHECK(share_of_others(r) == doctest::Approx(0.05));
  add_load(r, "n3", 5, -1);
  CHECK_FALSE(share_of_others(r, "n3"));
  add_load(r, "n4", 5, 0.5);
  CHECK(share_of_others(r, "n4") == doctest::Approx(10));
}

TEST_CASE("the share is of what was taken meanwhile, not since the host started") {
  Record r = record({{{"n1", "host", ""}, 1}});
  r.telemetry.deltas.push_back({std::string(kHostCpuSeconds), "seconds", 0, 1000, 1020});
  CHECK_FALSE(share_of_others(r));  // nobody looked at the others
  r.telemetry.deltas.push_back({std::string(kOthersCpuSeconds), "seconds", 0, 300, 301});
  CHECK(share_of_others(r) == doctest::Approx(0.05));
}

TEST_CASE("times and rates suffer from other work, counts and states do not") {
  for (const char* unit : {"seconds", "bytes_per_second", "operations_per_second"})
    CHECK_MESSAGE(can_suffer(unit), unit);
  for (const char* unit : {"count", "celsius", "bytes", "ratio", ""})
    CHECK_FALSE_MESSAGE(can_suffer(unit), unit);
}
