// What closes an issue: both sides of each condition.
#include "analysis/retest.h"

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

struct Case {
  Issue issue{.id = "ISS-001", .found_at = "2026-11-20T10:00:00Z", .host = "n1", .criterion = "c"};
  Profile profile =
      cb::test::profile({metric_criterion({.metric = "bytes_per_second", .min = 100})});
  Campaign again = campaign({{"n1", 100}});
  Case() {
    again.id = "c2";
    again.started = "2026-11-21T10:00:00Z";
    again.ended = "2026-11-21T11:00:00Z";
    again.profile = profile;
  }
  // The evidence, or "no: " and why.
  std::string judge() const {
    const auto found = judge_retest(issue, profile, again, kToday);
    if (const auto* no = std::get_if<NoRetest>(&found)) return "no: " + no->why;
    return std::get<Retest>(found).evidence;
  }
};

}  // namespace

TEST_CASE("a re-test that passes the criterion closes its issue") {
  Case c;
  CHECK(c.judge() == "c passes: 100 B/s, at least 100 B/s is required");
  c.again = campaign({{"n1", 99.9}});
  c.again.started = c.again.ended = "2026-11-21T10:00:00Z";
  CHECK(c.judge().starts_with("no: c is fail in the re-test: n1:0 has 99.9 B/s"));
}

TEST_CASE("a re-test must be later, finished, whole, and of that host") {
  Case c;
  c.again.started = "2026-11-20T09:59:59Z";
  CHECK(c.judge().starts_with("no: it began at"));
  c.again.started = c.issue.found_at;
  CHECK(c.judge().starts_with("c passes"));
  c.issue.host = "n2";
  CHECK(c.judge() == "no: it did not measure n2");
  c.issue.host = "";
  CHECK(c.judge().starts_with("c passes"));
  c.again.warnings.push_back("x is not what the manifest says");
  CHECK(c.judge().starts_with("no: the re-test was changed"));
  c.again.warnings.clear();
  c.again.ended.clear();
  CHECK(c.judge().starts_with("no: the re-test is not finished"));
}

TEST_CASE("the criterion is the one that failed, not the re-test's own") {
  Case c;
  std::get<MetricRule>(c.again.profile.criteria[0].rule).min = 1;
  std::get<MetricRule>(c.profile.criteria[0].rule).min = 101;
  CHECK(c.judge().starts_with("no: c is fail"));
  c.profile.criteria.clear();
  CHECK(c.judge().starts_with("no: the profile has no criterion c"));
}

TEST_CASE("an issue without a criterion needs the re-test accepted") {
  Case c;
  c.issue.criterion.clear();
  CHECK(c.judge() == "profile test is accepted, 1 criteria pass");
  std::get<MetricRule>(c.again.profile.criteria[0].rule).min = 101;
  CHECK(c.judge() == "no: the re-test is not accepted: 1 criteria fail, 0 were not measured");
}
