// A figure is not got rid of by another set of hosts, nor a host by a line that no reader takes.
#include <algorithm>

#include <doctest/doctest.h>

#include "campaign/again.h"
#include "campaign/attempts.h"
#include "campaign/roster.h"
#include "core/profile_soak.h"
#include "small_campaign.h"
#include "tests/unit/judge/verdict_fixture.h"

using namespace cb;

namespace {

// A step across these hosts: the rate of each, of the cluster, and of the way to the host n4.
Document across(const std::vector<std::string>& hosts, double rate, const char* commit = "c") {
  Document d;
  d.tool = {.version = "1", .commit = commit};
  d.run.hosts = hosts;
  Record r{.case_name = "fake"};
  const auto add = [&](Entity entity) {
    Samples s;
    s.add(rate);
    const size_t e = r.entity(entity);
    r.metrics.push_back({.name = "rate", .unit = "bytes_per_second", .entity = e, .samples = s});
  };
  for (const std::string& host : hosts) add({host, "gpu", "0"});
  for (const std::string& host : hosts) add({host, "host", "", "n4:eth0"});
  add({"", "cluster", ""});
  d.records = {r};
  return d;
}

size_t attempts_of(const Document& d, const Entity& entity) {
  for (const Metric& m : d.records[0].metrics) {
    if (d.records[0].entities[m.entity] == entity) return std::max<size_t>(1, m.attempts.size());
  }
  return 0;
}

const std::vector<std::string> kBefore{"n1", "n2", "n3", "n4"}, kAfter{"n1", "s1", "n3", "n4"};

}  // namespace

TEST_CASE("figures of hosts that still take part count over sets, those of the set do not") {
  const Document d = join_attempts({{1, false, across(kBefore, 1)},
                                    {2, true, across(kBefore, 2)},
                                    {3, false, across(kAfter, 9)}});
  const auto of = [&](const Entity& e) { return attempts_of(d, e); };
  CHECK(of({"n3", "gpu", "0"}) == 3);
  CHECK(of({"n3", "host", "", "n4:eth0"}) == 3);
  CHECK(of({"s1", "gpu", "0"}) == 1);
  CHECK(of({"", "cluster", ""}) == 1);
  for (const Metric& m : d.records[0].metrics) {
    if (d.records[0].entities[m.entity] == Entity{"n3", "gpu", "0"})
      CHECK(std::ranges::equal(m.samples.list(), std::vector<double>{1, 2, 9}));
  }
}

TEST_CASE("a way to a host that went is measured no more") {
  const Document d = join_attempts(
      {{1, false, across(kBefore, 1)}, {2, false, across({"n1", "n2", "n3", "s1"}, 9)}});
  CHECK(attempts_of(d, {"n1", "gpu", "0"}) == 2);
  CHECK(attempts_of(d, {"n1", "host", "", "n4:eth0"}) == 1);
}

TEST_CASE(
    "in a set of two the other host may have been the cause, and a program measures as it is") {
  const Document pair =
      join_attempts({{1, false, across({"n1", "n2"}, 1)}, {2, false, across({"n1", "s1"}, 9)}});
  CHECK(attempts_of(pair, {"n1", "gpu", "0"}) == 1);
  const Document other =
      join_attempts({{1, false, across(kBefore, 1, "old")}, {2, false, across(kAfter, 9, "new")}});
  CHECK(attempts_of(other, {"n3", "gpu", "0"}) == 1);
}

TEST_CASE("a spare steps in only for a host with the same slots") {
  Roster r({{"n1", 8}, {"n2", 4}}, {{"s1", 4}});
  CHECK_FALSE(r.spare_for("n1"));
  CHECK(r.spare_for("n2") == "s1");
  CHECK_FALSE(r.spare_for("stranger"));
}

TEST_CASE("a soak's jobs are not measured once more") {
  Campaign c = test::campaign({{"n1", 50}});
  c.jobs[0].document->run.started = c.jobs[0].document->run.ended = "2026-11-21T00:00:00Z";
  const Profile p =
      test::profile({test::metric_criterion({.metric = "bytes_per_second", .min = 100})});
  CHECK(jobs_to_repeat(c, judge(c, p, {}, test::kToday)).size() == 1);
  c.jobs[0].cycle = 1;
  CHECK(jobs_to_repeat(c, judge(c, p, {}, test::kToday)).empty());
}

TEST_CASE("a spare that steps in while --only runs is measured whole") {
  test::SmallCampaign s;
  s.setup.campaign.spares = {{"s1", 1}};
  s.lay_all_ready();
  s.run();
  s.setup.only = {"n2"};
  s.lay_ready("001-info@n2", 2, to_json_text(s.document("001-info@n2", 2)));
  s.lay_ready("002-rate@n2", 2, "", 4);
  s.let_die("n2");
  s.lay_ready("003-all", 2, to_json_text(s.document_of("003-all", 2, {{"n1", 1}, {"s1", 1}})));
  const auto outcomes = s.run();
  CHECK(outcomes.at("002-rate@s1").state == JobState::done);
  CHECK(outcomes.at("003-all").state == JobState::done);
  const Journal journal = s.journal();
  REQUIRE(journal.roster.size() == 1);
  CHECK(journal.roster[0].out.host == "n2");
  CHECK(journal.roster[0].out.by == "s1");
  std::vector<Said> warnings;
  read_roster(s.setup.campaign, journal, warnings);
  CHECK(warnings.empty());
}

TEST_CASE("where nobody passes the first look no spare is spent") {
  test::SmallCampaign s;
  s.setup.campaign.spares = {{"s1", 1}, {"s2", 1}};
  for (const char* host : {"n1", "n2"}) s.lay_ready(std::string("001-info@") + host, 1, "", 4);
  s.run();
  CHECK(s.journal().roster.empty());
}
