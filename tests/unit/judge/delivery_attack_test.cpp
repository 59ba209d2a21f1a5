// Ways in which a host that went could come back, or what it did could be forgotten.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/profile_soak.h"
#include "judge/delivery.h"
#include "judge/soak.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

ExcludedHost gone(const std::string& host, const std::string& by) {
  return {.host = host,
          .step = "s",
          .job = "001-s@" + host,
          .attempt = 1,
          .at = "2026-11-21T00:00:00Z",
          .reason = "it does not answer",
          .by = by};
}

Job measured(const std::string& host, const std::string& own_name) {
  return done(host, document({own_name}, {record({{{own_name, "host", ""}, 100}})}));
}

Campaign replaced(std::vector<ExcludedHost> excluded, int at_most) {
  Campaign c;
  c.hosts = {"n1", "n2"};
  c.profile = profile({metric_criterion({.metric = "bytes_per_second", .min = 50})});
  c.profile.delivery = Delivery{.hosts = 2, .replaced_at_most = at_most};
  c.excluded = std::move(excluded);
  return c;
}

// n2 was interrupted in cycle 1 of a soak, and s1 has its place.
Campaign soak_with_spare(JobState state, const Said& reason) {
  Campaign c = replaced({gone("n2", "s1")}, 1);
  c.profile.soak = Soak{{"s"}, 2, 1};
  Criterion none{.id = "none", .step = "s", .domain = "stability"};
  none.rule = SoakRule{.limit = 0};
  c.profile.criteria.push_back(none);
  for (const char* host : {"n1", "n2", "s1"}) {
    for (size_t cycle = 1; cycle <= 2; ++cycle) {
      Job job = measured(host, host);
      job.cycle = cycle;
      job.started = "2026-11-21T00:00:00Z";
      job.ended = "2026-11-21T00:00:10Z";
      if (job.host == "n2") {
        job.state = cycle == 1 ? JobState::failed : JobState::missing;
        job.document.reset();
        if (cycle == 1)
          job.interruptions = {
              {.state = state, .reason = reason, .started = job.started, .ended = job.ended}};
      }
      c.jobs.push_back(std::move(job));
    }
  }
  return c;
}

}  // namespace

TEST_CASE("a spare is no machine that is out, however many spares stood between them") {
  Campaign c = replaced({gone("n2", "s1"), gone("s1", "s2")}, 2);
  c.jobs = {measured("n1", "n1"), measured("n2", "n2"), measured("s1", "s1"), measured("s2", "n2")};
  apply_delivery(c);
  CHECK(c.hosts == std::vector<std::string>{"n1", "s2"});
  REQUIRE(c.warnings.size() == 1);
  CHECK(c.warnings[0].text().starts_with("the spare s2 is the same machine as n2"));
  CHECK(judge(c, c.profile, {}, kToday).overall() == State::incomplete);
}

TEST_CASE("spares that are machines of their own leave no doubt") {
  Campaign c = replaced({gone("n2", "s1"), gone("s1", "s2")}, 2);
  c.jobs = {measured("n1", "n1"), measured("n2", "n2"), measured("s1", "s1"), measured("s2", "s2")};
  apply_delivery(c);
  CHECK(c.warnings.empty());
  CHECK(judge(c, c.profile, {}, kToday).overall() == State::pass);
}

TEST_CASE("a host that is interrupted in a soak counts though a spare has its place") {
  Campaign c = soak_with_spare(JobState::failed, said("end.code", 4));
  apply_delivery(c);
  const auto events = soak_events(c);
  REQUIRE(events.size() == 1);
  CHECK(events[0].interrupts);
  CHECK(events[0].entity.host == "n2");
  const SoakTime time = soak_time(c);
  CHECK(time.jobs == 5);  // the cycle that n2 never began is the spare's
  CHECK(time.missing == 0);
  CHECK(time.cycles[0].bad == 1);
  const Judgement judgement = judge(c, c.profile, {}, kToday);
  CHECK(judgement.overall() == State::fail);
  CHECK(judgement.criteria[1].state == State::fail);
  CHECK(judgement.criteria[0].state == State::pass);  // its figures went with it
}

TEST_CASE("a stop from outside on a host that was replaced later is no interruption") {
  Campaign c = soak_with_spare(JobState::missing, said("end.interrupted_outside"));
  apply_delivery(c);
  CHECK(soak_events(c).empty());
  CHECK(judge(c, c.profile, {}, kToday).overall() == State::pass);
}

TEST_CASE("the line of the delivery names who was replaced, by what, why and what was found") {
  Campaign c = replaced({gone("n2", "s1")}, 1);
  c.jobs = {measured("n1", "n1"), measured("n2", "n2"), measured("s1", "s1")};
  c.jobs[1].document->records[0].checks[0].passed = false;
  apply_delivery(c);
  const Judgement judgement = judge(c, c.profile, {}, kToday);
  CHECK(judgement.overall() == State::pass);
  const std::string& said = judgement.criteria.back().reason;
  CHECK(said.find("2 hosts delivered, 1 replaced") != std::string::npos);
  CHECK(said.find("s1 has the place of n2: it does not answer; found of it: s:") !=
        std::string::npos);
}

TEST_CASE("another profile lets go whom the campaign's own does not") {
  Campaign c = replaced({gone("n2", "s1")}, 0);
  c.jobs = {measured("n1", "n1"), measured("n2", "n2"), measured("s1", "s1")};
  apply_delivery(c);
  CHECK(c.hosts == std::vector<std::string>{"n1", "n2"});
  Profile other = c.profile;
  other.delivery->replaced_at_most = 1;
  apply_delivery(c, other);
  apply_delivery(c, other);  // once more changes nothing
  CHECK(c.hosts == std::vector<std::string>{"n1", "s1"});
  CHECK(c.jobs.size() == 2);
  CHECK(judge(c, other, {}, kToday).overall() == State::pass);
}

TEST_CASE("where two hosts have exchanged names, what was found of the other one stays") {
  Campaign c = replaced({gone("n1", "s1")}, 1);
  c.jobs = {measured("n1", "n2"), measured("n2", "n1"), measured("s1", "s1")};
  Job all = done("", document({"n1", "n2"}, {record({{{"n1", "host", ""}, 100}})}));
  all.document->records[0].checks[0].passed = false;  // n1 is what the delivered n2 calls itself
  c.jobs.push_back(all);
  apply_delivery(c);
  CHECK(judge(c, c.profile, {}, kToday).overall() == State::fail);
}
