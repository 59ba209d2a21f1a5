// Who may be taken out of a delivery, and what of it counts.
#include "judge/delivery.h"

#include <algorithm>

#include <doctest/doctest.h>

using namespace cb;

namespace {

Document measured(const std::vector<std::string>& hosts, double value) {
  Document d;
  d.run.hosts = hosts;
  d.run.ranks = static_cast<int>(hosts.size());
  Record r{.case_name = "fake"};
  for (const std::string& host : hosts) {
    const size_t e = r.entity({host, "host", ""});
    Samples s;
    for (int i = 0; i < 20; ++i) s.add(value);
    r.metrics.push_back(
        {.name = "bytes_per_second", .unit = "bytes_per_second", .entity = e, .samples = s});
    r.checks.push_back({.name = "data", .passed = true, .entity = e});
  }
  d.records = {r};
  return d;
}

// Hosts a and b; b failed step `each`, s took its place, and `all` ran on a and s.
struct Delivered {
  Campaign c;
  Delivered(int hosts, int replaced_at_most, bool agreed = true) {
    Profile& p = c.profile;
    p.name = "p";
    p.steps = {{.id = "each", .case_name = "fake"},
               {.id = "all", .case_name = "fake", .scope = Scope::cluster}};
    for (const char* step : {"each", "all"})
      p.criteria.push_back({.id = step,
                            .step = step,
                            .domain = "host",
                            .rule = MetricRule{.metric = "bytes_per_second", .min = 1.0}});
    if (agreed) p.delivery = Delivery{.hosts = hosts, .replaced_at_most = replaced_at_most};
    c.hosts = {"a", "b"};
    add("each", "a", measured({"a"}, 2));
    add("each", "b", measured({"b"}, 0.5));
    c.jobs.back().document->records[0].checks[0].passed = false;
    add("each", "s", measured({"s"}, 2));
    add("all", "", measured({"a", "s"}, 2));
    c.excluded = {{.host = "b",
                   .step = "each",
                   .job = "001-each@b",
                   .attempt = 1,
                   .reason = "it failed",
                   .by = "s"}};
  }
  void add(const std::string& step, const std::string& host, Document d) {
    Job job{.step = step, .host = host, .state = JobState::done};
    job.document = std::move(d);
    c.jobs.push_back(std::move(job));
  }
  State verdict() {
    apply_delivery(c);
    return judge(c, c.profile, {}, "2026-11-24").overall();
  }
  CriterionVerdict line() {
    for (const CriterionVerdict& v : judge(c, c.profile, {}, "2026-11-24").criteria) {
      if (v.criterion->id == "delivery:hosts") return v;
    }
    return {};
  }
};

}  // namespace

TEST_CASE("a replaced host is let go where the contract says so, and what it found stays visible") {
  Delivered d(2, 1);
  CHECK(d.verdict() == State::pass);
  CHECK(d.c.hosts == std::vector<std::string>{"a", "s"});
  CHECK(d.c.jobs.size() == 3);
  REQUIRE(d.c.excluded[0].found.size() == 1);
  CHECK(d.c.excluded[0].found[0].text().find("check data failed") != std::string::npos);
  CHECK(
      d.line().reason.starts_with("2 hosts delivered, 1 replaced by spares; s has the place of b"));
}

TEST_CASE("else nothing is let go: its bad figures fail, and it is not delivered") {
  CHECK(Delivered(2, 0).verdict() == State::fail);
  CHECK(Delivered(2, 1, false).verdict() == State::fail);
  Delivered good(2, 0);
  good.c.jobs[1].document = measured({"b"}, 2);  // only lost, say
  CHECK(good.verdict() == State::incomplete);
}

TEST_CASE("the number of hosts is the contract's") {
  CHECK(Delivered(3, 1).verdict() == State::incomplete);
  CHECK(Delivered(1, 0).verdict() != State::pass);
}

TEST_CASE("a host that nobody replaced is missing, whatever the contract lets go") {
  Delivered d(2, 1);
  d.c.excluded[0].by.clear();
  d.c.jobs[1].document = measured({"b"}, 2);
  CHECK(d.verdict() == State::incomplete);
  CHECK(d.line().state == State::incomplete);
}

TEST_CASE("in a step across all hosts only what names the gone host alone goes with it") {
  const auto with_check = [](const Entity& entity) {
    Delivered d(2, 1);
    Record& r = d.c.jobs[3].document->records[0];
    r.checks.push_back({.name = "data", .passed = false, .entity = r.entity(entity)});
    return d.verdict();
  };
  CHECK(with_check({"b", "host", ""}) == State::pass);
  CHECK(with_check({"b", "gpu", "3"}) == State::pass);
  CHECK(with_check({"", "cluster", ""}) == State::fail);
  CHECK(with_check({"a", "host", ""}) == State::fail);
  CHECK(with_check({"b", "pair", "", "a"}) == State::fail);  // it may be the other end
  const auto with_error = [](const std::string& where) {
    Delivered d(2, 1);
    d.c.jobs[3].document->records.push_back({.case_name = "fake", .outcome = Errored{where, "no"}});
    return d.verdict();
  };
  CHECK(with_error("b rank 1") == State::pass);
  CHECK(with_error("bb rank 1") == State::incomplete);
}

TEST_CASE("a spare that is the same machine as the host that it replaces is no spare") {
  Delivered d(2, 1);
  d.c.jobs[2].document = measured({"b"}, 2);  // "s" calls itself b
  CHECK(d.verdict() != State::pass);
  CHECK(d.c.warnings.size() == 1);
}

TEST_CASE("a customer with another profile does not have to let go what the campaign's own did") {
  Delivered d(2, 1);
  apply_delivery(d.c);
  Profile strict = d.c.profile;
  strict.delivery.reset();
  CHECK(judge(d.c, strict, {}, "2026-11-24").overall() == State::incomplete);
  strict.delivery = Delivery{.hosts = 2, .replaced_at_most = 0};
  CHECK(judge(d.c, strict, {}, "2026-11-24").overall() == State::incomplete);
}

TEST_CASE(
    "a replaced host that came back and stepped in is delivered, with all that was found of it") {
  const auto verdict = [](bool was_bad) {
    Delivered d(2, 2);
    if (!was_bad) d.c.jobs[1].document = measured({"b"}, 2);  // it was only lost
    d.c.excluded.push_back({.host = "a", .step = "each", .reason = "it died", .by = "b"});
    d.c.jobs[3].document = measured({"b", "s"}, 2);
    const State out = d.verdict();
    CHECK(d.c.hosts == std::vector<std::string>{"b", "s"});
    CHECK(std::ranges::count(d.c.jobs, "b", &Job::host) == 1);
    CHECK(std::ranges::count(d.c.jobs, "a", &Job::host) == 0);
    return out;
  };
  CHECK(verdict(false) == State::pass);
  CHECK(verdict(true) == State::fail);  // its failed check counts again
}
