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
  m.attempts.resize(kMaxAttempts - 1, m.samples.summary());
  CHECK(to_repeat(c, at_least(100)).size() == 1);
  m.attempts.resize(kMaxAttempts, m.samples.summary());
  CHECK(to_repeat(c, at_least(100)).empty());
}

TEST_CASE("an open figure is measured again only while its own job has attempts left") {
  const Criterion near = at_least(100);
  const auto repeated = [&](const std::string& other_step, const std::string& other_host,
                            size_t attempts, bool with_document = true) {
    Campaign c = campaign({{"n1", 100}, {other_host, 100}});
    c.jobs[1].step = other_step;
    Metric& m = c.jobs[0].document->records[0].metrics[0];
    m.attempts.resize(attempts, m.samples.summary());
    if (!with_document) c.jobs[1].document.reset();
    const Profile p = profile({near});
    Judgement open = judge(c, p, {}, kToday);
    open.criteria[0].gaps = {{"n1", {"why.unsure", {}}}};
    return jobs_to_repeat(c, open);
  };
  CHECK(repeated("t", "n1", kMaxAttempts - 1) == Names{{"s", "n1"}});
  for (const char* step : {"s", "t"}) {
    for (const char* host : {"n1", "n2"}) {
      if (step == std::string("s") && host == std::string("n1")) continue;
      CHECK(repeated(step, host, kMaxAttempts).empty());
      CHECK(repeated(step, host, kMaxAttempts, false).empty());
    }
  }
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

TEST_CASE("what the figures of one document miss or leave open is counted") {
  const auto unmet = [](std::vector<Criterion> criteria, double value, const char* step = "s") {
    const Campaign c = campaign({{"n1", value}});
    return unmet_criteria(profile(std::move(criteria)), step, 65, *c.jobs[0].document);
  };
  Criterion second = at_least(60);
  second.id = "d";
  CHECK(unmet({at_least(50), second}, 70) == 0);
  CHECK(unmet({at_least(50), second}, 60) == 0);
  CHECK(unmet({at_least(50), second}, 55) == 1);
  CHECK(unmet({at_least(50), second}, 45) == 2);
  CHECK(unmet({at_least(50), second}, 45, "t") == 0);
  Criterion warns = at_least(50);
  warns.severity = Severity::warn;
  CHECK(unmet({warns}, 45) == 0);
  CHECK(unmet({metric_criterion({.metric = "bytes_per_second", .min_of_fleet = 0.9})}, 45) == 0);
  CHECK(unmet({metric_criterion({.metric = "bytes_per_second", .max_of_fleet = 0.9})}, 45) == 0);
  CHECK(unmet({metric_criterion({.metric = "bytes_per_second", .min = 50, .since = "t"})}, 45) ==
        0);
  Criterion needs = at_least(50);
  needs.needs = {{"gpu", 8}};
  CHECK(unmet({needs}, 45) == 1);  // what the host has is judged elsewhere
  CHECK(unmet({metric_criterion({.metric = "another", .min = 50})}, 45) == 0);
  // How many hosts there are is known: what is not for so many is not missed.
  needs.needs = {{"hosts_at_most", 65}};
  CHECK(unmet({needs}, 45) == 1);
  needs.needs = {{"hosts_at_most", 64}};
  CHECK(unmet({needs}, 45) == 0);
  needs.needs = {{"hosts", 66}};
  CHECK(unmet({needs}, 45) == 0);
}

TEST_CASE(
    "only a figure that was measured and lies too near to its limit is open to more samples") {
  for (const char* id : {"why.unsure", "why.disputed", "why.disturbed"})
    CHECK(is_inconclusive({"n1", {id, {}}}));
  for (const char* id : {"gap.nothing", "gap.no_record", "why.below", ""})
    CHECK_FALSE(is_inconclusive({"n1", {id, {}}}));
}
