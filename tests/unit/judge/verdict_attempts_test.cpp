// Measuring until it passes: the first four measurements decide.
#include "judge/verdict_attempts.h"

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// One host whose measurements gave these values, one sample each.
Campaign measured(const std::vector<double>& values) {
  Campaign c = campaign({{"n1", values.front()}});
  Metric& m = c.jobs[0].document->records[0].metrics[0];
  m.samples = Samples();
  for (const double v : values) {
    Samples one;
    one.add(v);
    m.samples.add(v);
    m.attempts.push_back(one.summary());
  }
  return c;
}

CriterionVerdict at_least_100(const std::vector<double>& values) {
  static const Profile p = profile({metric_criterion({.metric = "bytes_per_second", .min = 100})});
  return verdict(measured(values), p);
}

constexpr double kLow = 90, kHigh = 110;

}  // namespace

TEST_CASE("what four measurements failed stays failed, however often it is measured again") {
  std::vector<double> values(4, kLow);
  values.insert(values.end(), 6, kHigh);
  const CriterionVerdict v = at_least_100(values);
  CHECK(v.state == State::fail);
  CHECK(*v.value == kLow);
  CHECK(v.reason.find("measured 10 times, 4 of them miss ≥ 100") != std::string::npos);
}

TEST_CASE("half of the first four is neither: it stays open") {
  const CriterionVerdict v = at_least_100({kLow, kHigh, kLow, kHigh, kHigh, kHigh, kHigh, kHigh});
  CHECK(v.state == State::incomplete);
  CHECK(v.reason.find("measured 8 times, 2 of them miss") != std::string::npos);
}

TEST_CASE("one of the first four is let go, and said") {
  std::vector<double> values(10, kHigh);
  values[1] = kLow;
  const CriterionVerdict v = at_least_100(values);
  CHECK(v.state == State::pass);
  CHECK(v.reason.find("measured 10 times, 1 of them miss") != std::string::npos);
}

TEST_CASE("what was measured often and never missed passes without a word") {
  const CriterionVerdict v = at_least_100(std::vector<double>(6, kHigh));
  CHECK(v.state == State::pass);
  CHECK(v.reason.empty());
}

TEST_CASE("what became bad later fails as before") {
  std::vector<double> values(4, kHigh);
  values.insert(values.end(), 6, kLow);
  CHECK(at_least_100(values).state != State::pass);
}

TEST_CASE("up to four measurements are judged together as before") {
  CHECK(at_least_100({kLow, kHigh, kHigh, kHigh}).state == State::pass);
  CHECK(at_least_100({kLow, kLow, kLow, kLow}).state == State::fail);
}

TEST_CASE("a check that failed in an earlier attempt is in the file of that attempt") {
  Job job{.file = "records/001-all+2.json"};
  job.attempts = {{1, "records/001-all+1.json", "", ""}, {2, "records/001-all+2.json", "", ""}};
  const auto file = [&](const Said& detail) {
    return file_of_check(job, {.name = "data", .passed = false, .detail = detail});
  };
  CHECK(file(said("again.in_attempt", 1)) == "records/001-all+1.json");
  CHECK(file(said("again.in_attempt_text", 1, "a wrong byte")) == "records/001-all+1.json");
  CHECK(file(said("again.in_attempt", 2)) == "records/001-all+2.json");
  CHECK(file(Said("a wrong byte")) == "records/001-all+2.json");
}
