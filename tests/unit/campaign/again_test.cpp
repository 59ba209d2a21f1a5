#include "campaign/again.h"

#include <doctest/doctest.h>

#include "tests/unit/judge/verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

using Names = std::set<std::pair<std::string, std::string>>;

Names to_repeat(Campaign c, Criterion criterion,
                const std::string& ended = "2026-11-21T00:02:00Z") {
  for (Job& job : c.jobs) {
    job.document->run.started = "2026-11-21T00:00:00Z";
    job.document->run.ended = ended;
    job.file = "records/001-" + job.host + ".json";
  }
  const Profile p = profile({std::move(criterion)});
  return jobs_to_repeat(c, judge(c, p, {}, kToday));
}

Criterion at_least(double limit) {
  return metric_criterion({.metric = "bytes_per_second", .min = limit});
}

}  // namespace

TEST_CASE("a failing figure is measured again on its host, a passing one is not") {
  CHECK(to_repeat(campaign({{"n1", 50}, {"n2", 100}}), at_least(100)) == Names{{"s", "n1"}});
  CHECK(to_repeat(campaign({{"n1", 100}, {"n2", 100}}), at_least(100)).empty());
}

TEST_CASE("what takes longer than two minutes counts as it is") {
  const Campaign c = campaign({{"n1", 50}});
  CHECK(to_repeat(c, at_least(100), "2026-11-21T00:02:00Z").size() == 1);
  CHECK(to_repeat(c, at_least(100), "2026-11-21T00:02:01Z").empty());
}

TEST_CASE("four measurements are enough") {
  Campaign c = campaign({{"n1", 50}});
  Metric& m = c.jobs[0].document->records[0].metrics[0];
  m.attempts.resize(kMostAttempts - 1, m.samples.summary());
  CHECK(to_repeat(c, at_least(100)).size() == 1);
  m.attempts.resize(kMostAttempts, m.samples.summary());
  CHECK(to_repeat(c, at_least(100)).empty());
}

TEST_CASE("warnings, wrong data and limits beyond physics are final") {
  Criterion warns = at_least(100);
  warns.severity = Severity::warn;
  CHECK(to_repeat(campaign({{"n1", 50}}), warns).empty());
  CHECK(to_repeat(campaign({{"n1", 50}}, 80.0), at_least(100)).empty());
  Campaign wrong = campaign({{"n1", 100}});
  wrong.jobs[0].document->records[0].checks[0].passed = false;
  wrong.jobs[0].document->records[0].metrics.clear();
  CHECK(to_repeat(wrong, at_least(100)).empty());
}
