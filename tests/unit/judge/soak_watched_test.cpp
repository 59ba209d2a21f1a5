// Until when a soak was watched, and which of its cycles a host did not soak with the others.
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/profile_soak.h"
#include "judge/soak.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

constexpr size_t kCycles = 20;
constexpr int kHourOfSoak = 3600;

std::string hour(size_t h, int minutes) {
  return fmt::format("2026-11-{:02}T{:02}:{:02}:00Z", 21 + h / 24, h % 24, minutes);
}

// Of the hour of its cycle: from minute to minute.
Job job_of(const std::string& step, const std::string& host, size_t cycle, int from, int to) {
  Record r = record({{{host, "gpu", "0"}, 100}});
  r.started = hour(cycle - 1, from);
  r.ended = hour(cycle - 1, to);
  if (step == "events") {
    r.case_name = "events";
    r.metrics = {{.name = "kernel_messages", .unit = "count", .better = Better::lower}};
    r.metrics[0].entity = r.entity({host, "host", ""});
    r.metrics[0].samples.add(1);
  }
  Job job = done(host, document({host}, {r}));
  job.step = step;
  job.cycle = cycle;
  job.started = r.started;
  job.ended = r.ended;
  return job;
}

// Twenty hours of two hosts, each hour with a reading and 30 minutes of load, and the reading after
// the last one.
Campaign watched_soak() {
  Campaign c;
  c.hosts = {"n1", "n2"};
  c.profile.steps = {{.id = "events", .case_name = "events"}, {.id = "s", .case_name = "fake"}};
  c.profile.soak = Soak{{"events", "s"}, kCycles * kHourOfSoak, kHourOfSoak};
  for (const std::string& host : c.hosts) {
    c.inventories.push_back({.host = host});
    for (size_t cycle = 1; cycle <= kCycles; ++cycle) {
      c.jobs.push_back(job_of("events", host, cycle, 0, 0));
      c.jobs.push_back(job_of("s", host, cycle, 0, 30));
    }
    c.jobs.push_back(job_of("events", host, kCycles + 1, 0, 1));
  }
  return c;
}

Job& find_job(Campaign& c, const std::string& step, const std::string& host, size_t cycle) {
  for (Job& job : c.jobs) {
    if (job.step == step && job.host == host && job.cycle == cycle) return job;
  }
  throw Error("no such job");
}

State judged(const Campaign& c, SoakRule rule) {
  Criterion criterion{.id = "c", .step = "s", .domain = "stability"};
  criterion.rule = std::move(rule);
  Profile p = c.profile;
  p.criteria = {criterion};
  return verdict(c, p).state;
}

State xids(const Campaign& c) {
  return judged(c, {.kind = SoakRule::Kind::events, .limit = 0, .of = {"xid"}});
}
State interruptions(const Campaign& c) { return judged(c, {.limit = 0}); }
State mean_time_of(const Campaign& c, double hours, bool per_host) {
  return judged(c, {.kind = SoakRule::Kind::mtbi, .limit = hours * 3600, .per_host = per_host});
}
State decay(const Campaign& c) {
  return judged(c, {.kind = SoakRule::Kind::decay, .limit = 0.05, .metric = "bytes_per_second"});
}

// s1, which has the place of n2 since hour 10, made up for the first ten cycles in an hour.
Campaign soak_with_late_host() {
  Campaign c = watched_soak();
  for (Job& job : c.jobs) {
    if (job.host != "n2") continue;
    job.made_up = job.cycle <= 10;
    if (job.made_up && job.step == "s") job.ended = hour(job.cycle - 1, 5);
  }
  return c;
}

}  // namespace

TEST_CASE("an Xid in the load of the last cycle is read after it") {
  Campaign c = watched_soak();
  CHECK(xids(c) == State::pass);
  CHECK(interruptions(c) == State::pass);
  Job& reading = find_job(c, "events", "n2", kCycles + 1);
  reading.document->records[0].notes = {
      said("events.kernel", "n2", "xid", hour(kCycles - 1, 20), "b:5", "NVRM: Xid 79")};
  CHECK(xids(c) == State::fail);
  Profile p = c.profile;
  p.criteria = {{.id = "c", .step = "s", .domain = "stability"}};
  p.criteria[0].rule = SoakRule{.kind = SoakRule::Kind::events, .limit = 0, .of = {"xid"}};
  CHECK(verdict(c, p).reason.find("the last reading: n2: Xid: NVRM: Xid 79") != std::string::npos);
}

TEST_CASE("without a reading after the last load the soak is open, but for its drift") {
  Campaign c = watched_soak();
  CHECK(last_reading(c).open.empty());
  CHECK(last_reading(c).at == hour(kCycles, 1));
  CHECK(last_reading(c).loads_ended == hour(kCycles - 1, 30));
  Job& reading = find_job(c, "events", "n2", kCycles + 1);
  SUBCASE("it never ran") { reading.state = JobState::missing; }
  SUBCASE("it failed") { reading.state = JobState::failed; }
  SUBCASE("a load ended after it had begun") { reading.started = hour(kCycles - 1, 29); }
  if (reading.state != JobState::done) reading.document.reset();
  REQUIRE(last_reading(c).open.size() == 1);
  CHECK(last_reading(c).open[0]->host == "n2");
  CHECK(xids(c) == State::incomplete);
  CHECK(interruptions(c) == State::incomplete);
  CHECK(mean_time_of(c, 1, false) == State::incomplete);
  CHECK(decay(c) == State::pass);
}

TEST_CASE("a load across all hosts that is repeated after the reading leaves it open everywhere") {
  Campaign c = watched_soak();
  Job all = job_of("s", "n1", kCycles, 40, 50);
  all.host.clear();
  all.ended = hour(kCycles, 1);
  c.jobs.push_back(all);
  CHECK(last_reading(c).open.size() == 2);
}

TEST_CASE("the reading after the last cycle is no cycle and no time under load") {
  const SoakTime time = soak_time(watched_soak());
  CHECK(time.cycles.size() == kCycles);
  CHECK(time.jobs == 2 * 2 * kCycles);
  CHECK(time.cluster_seconds == kCycles * 1800);
}

TEST_CASE("a soak without a step that reads has nothing to read after it") {
  Campaign c = watched_soak();
  c.profile.steps[0].case_name = "fake";
  std::erase_if(c.jobs, [](const Job& job) { return job.cycle > kCycles; });
  CHECK_FALSE(last_reading(c).planned);
  CHECK(interruptions(c) == State::pass);
}

TEST_CASE("cycles that a host made up for are no time under load and prove nothing") {
  const Campaign c = soak_with_late_host();
  const SoakTime time = soak_time(c);
  // n1 has 20 half hours, n2 ten: what it did in five minutes each counts in neither.
  CHECK(time.cluster_seconds == 20 * 1800);
  CHECK(time.host_seconds == 30 * 1800);
  CHECK(time.made_up == 20);
  CHECK(time.cycles[0].made_up == 2);
  CHECK(time.cycles[0].done == 2);
  CHECK(time.missing == 0);
  // 15 h of the hosts prove 15 / ln 20 = 5.0073 h, and 20 h would prove 6.676 h.
  CHECK(mean_time_of(c, 5.007, true) == State::pass);
  CHECK(mean_time_of(c, 5.008, true) == State::incomplete);
  CHECK(mean_time_of(watched_soak(), 6.67, true) == State::pass);
  const auto rows = made_up_cycles(c);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].host == "n2");
  CHECK(rows[0].soaked == 10);
  CHECK(rows[0].made_up == 10);
  CHECK(rows[0].seconds == 10 * 300);
}

TEST_CASE("what was made up is no part of the drift, and what it found counts") {
  Campaign c = soak_with_late_host();
  for (const SoakSeries& s : soak_series(c))
    CHECK(s.values.size() == (s.entity.host == "n1" ? kCycles : kCycles - 10));
  CHECK(decay(c) == State::pass);
  for (Job& job : c.jobs) job.made_up = job.host == "n2" && job.cycle <= kCycles;
  CHECK(decay(c) == State::incomplete);  // n2 has soaked nothing
  Job& late = find_job(c, "s", "n2", 3);
  late.document.reset();
  late.state = JobState::failed;
  late.interruptions = {
      {.reason = said("end.code", 4), .started = late.started, .ended = late.ended}};
  CHECK(interruptions(c) == State::fail);
  CHECK(soak_time(c).cycles[2].bad == 1);
}

TEST_CASE("which steps read") {
  Campaign c = watched_soak();
  CHECK(is_reading(c.profile, c.profile.steps[0]));
  CHECK_FALSE(is_reading(c.profile, c.profile.steps[1]));
  CHECK_FALSE(is_last_reading(c.profile, kCycles));
  CHECK(is_last_reading(c.profile, kCycles + 1));
  c.profile.soak->steps = {"s"};
  CHECK_FALSE(is_reading(c.profile, c.profile.steps[0]));  // it is no step of the soak
}
