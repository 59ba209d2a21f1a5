// Nothing unmeasured passes: every way in which a number can be absent.
#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

const MetricRule kRule{.metric = "bytes_per_second", .min = 1};

CriterionVerdict judged(const Campaign& c, const MetricRule& rule = kRule) {
  static std::vector<Profile> kept;  // verdicts point into their profile
  kept.reserve(64);
  kept.push_back(profile({metric_criterion(rule)}));
  return verdict(c, kept.back());
}

bool says(const CriterionVerdict& v, const std::string& text) {
  return v.reason.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a job that is not done leaves the criterion incomplete, with host and reason") {
  for (const JobState state :
       {JobState::failed, JobState::deadline, JobState::not_applicable, JobState::missing}) {
    Campaign c = campaign({{"n1", 100}, {"n2", 100}});
    c.jobs[1].state = state;
    c.jobs[1].reason = "cable out";
    c.jobs[1].log = "logs/001-s@n2.err";
    c.jobs[1].document.reset();
    const CriterionVerdict v = judged(c);
    CHECK(v.state == State::incomplete);
    CHECK(says(v, "on n2"));
    CHECK(says(v, "cable out"));
    CHECK(says(v, "logs/001-s@n2.err"));
    CHECK(says(v, "--resume"));
  }
}

TEST_CASE("what made a job fail is taken from its records, where they say it") {
  Campaign c = campaign({{"n1", 100}, {"n2", 100}});
  c.jobs[1].state = JobState::failed;
  c.jobs[1].reason = "exit code 1";
  c.jobs[1].document->records[0].outcome = Errored{"n2", "the disk is full"};
  CHECK(says(judged(c), "the disk is full"));
  c.jobs[1].document->records[0].outcome = Measured{};
  CHECK(says(judged(c), "exit code 1"));
  CHECK_FALSE(says(judged(c), "the disk is full"));
}

TEST_CASE("a host that was asked for and has no job is incomplete and named") {
  Campaign c = campaign({{"n1", 100}});
  c.hosts.push_back("n9");
  const CriterionVerdict v = judged(c);
  CHECK(v.state == State::incomplete);
  CHECK(says(v, "n9"));
}

TEST_CASE("a job across hosts must have every host in every record") {
  Campaign c;
  c.hosts = {"n1", "n2"};
  c.jobs.push_back(
      done("", document({"n1", "n2"}, {record({{{"n1", "rank", "0"}, 5}, {{"n2", "rank", "1"}, 5}}),
                                       record({{{"n1", "rank", "0"}, 5}}, {}, 4096)})));
  const CriterionVerdict v = judged(c);
  CHECK(v.state == State::incomplete);
  CHECK(says(v, "n2 contributed nothing"));
  CHECK(says(v, "size 4K"));
  c.jobs[0].document->records.pop_back();
  CHECK(judged(c).state == State::pass);
}

TEST_CASE("an entity of kind cluster speaks for the hosts that the job ran on, and no others") {
  Campaign c;
  c.hosts = {"n1", "n2"};
  c.jobs.push_back(done("", document({"n1", "n2"}, {record({{{"", "cluster", ""}, 5}})})));
  CHECK(judged(c).state == State::pass);
  c.jobs[0].document->run.hosts = {"n1"};
  CHECK(judged(c).state == State::incomplete);
}

TEST_CASE("a pair speaks for its two hosts") {
  Campaign c;
  c.hosts = {"n1", "n2", "n3"};
  c.jobs.push_back(done(
      "", document({"n1", "n2", "n3"}, {record({{Entity{"n1", "pair", "n1:0", "n2:1"}, 5}})})));
  const CriterionVerdict v = judged(c);
  CHECK(v.state == State::incomplete);
  CHECK(says(v, "n3"));
  CHECK_FALSE(says(v, "n2"));
}

TEST_CASE("all pairs together speak for the pairs' hosts: who has no partner is a gap") {
  const Entity one{"n1", "pair", "rank 0", "n3:rank 2"}, two{"n2", "pair", "rank 1", "n4:rank 3"};
  Campaign c;
  c.hosts = {"n1", "n2", "n3", "n4", "n5"};
  Record r = record({{one, 5}, {two, 5}, {{"", "pairs", "all pairs"}, 10}});
  r.checks.pop_back();  // a check is of a pair
  c.jobs.push_back(done("", document(c.hosts, {r})));
  Criterion check = metric_criterion(kRule);
  check.rule = CheckRule{.check = "data"};
  for (const Criterion& criterion : {metric_criterion(kRule), check}) {
    const Profile p = profile({criterion});
    c.hosts.resize(5, "n5");
    const CriterionVerdict odd = verdict(c, p);
    CHECK(odd.state == State::incomplete);
    CHECK(says(odd, "n5 contributed nothing"));
    CHECK_FALSE(says(odd, "n4"));
    c.hosts.resize(4);
    c.jobs[0].document->run.hosts = c.hosts;
    CHECK(verdict(c, p).state == State::pass);
    c.jobs[0].document->run.hosts.push_back("n5");
  }
}

TEST_CASE("an earlier error does not hide that a rank was killed") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].state = JobState::failed;
  c.jobs[0].document->records[0].outcome = Errored{"n1", "no room"};
  const Said killed = said("end.rank_killed", 137, 9, "Killed");
  for (const Said& reason : {killed, said("end.of_log", killed, "n2 rank 3: gone")}) {
    c.jobs[0].reason = reason;
    CHECK(says(judged(c), reason.text()));
    CHECK(says(judged(c), "no room"));
  }
  c.jobs[0].reason = said("end.code", 4);  // by the error
  CHECK_FALSE(says(judged(c), "it ended with code 4"));
  CHECK(says(judged(c), "no room"));
}

TEST_CASE("skipped, errored, no such metric, no record, no such step") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].document->records[0].outcome = Skipped{"no GPU on n1"};
  CHECK(judged(c).state == State::incomplete);
  CHECK(says(judged(c), "no GPU on n1"));
  c.jobs[0].document->records[0].outcome = Errored{"n1 rank 0", "cannot open x"};
  CHECK(judged(c).state == State::incomplete);
  CHECK(says(judged(c), "n1 rank 0: cannot open x"));
  c.jobs[0].document->records[0].outcome = Measured{};
  CHECK(judged(c, {.metric = "latency_seconds", .max = 1}).state == State::incomplete);
  c.jobs[0].document->records.clear();
  CHECK(judged(c).state == State::incomplete);
  c.jobs.clear();
  CHECK(judged(c).state == State::incomplete);
  CHECK(says(judged(c), "no step s"));
}

TEST_CASE("a skipped sweep is named although its point has no record of its own") {
  Campaign c = campaign({{"n1", 100}});
  Record& r = c.jobs[0].document->records[0];
  r.outcome = Skipped{"needs 2 ranks"};
  r.metrics.clear();
  r.params.set_list("size", {int64_t{1024}, int64_t{4096}});
  MetricRule rule = kRule;
  rule.at = {{"size", {"4K"}}};
  CHECK(judged(c, rule).state == State::incomplete);
  CHECK(says(judged(c, rule), "needs 2 ranks"));
}

TEST_CASE("a share of a ceiling that was not measured is incomplete") {
  const CriterionVerdict v =
      judged(campaign({{"n1", 100}}), {.metric = "bytes_per_second", .min_of_ceiling = 0.1});
  CHECK(v.state == State::incomplete);
  CHECK(says(v, "no ceiling"));
  CHECK(judged(campaign({{"n1", 100}}, 0.0), {.metric = "bytes_per_second", .min_of_ceiling = 0.1})
            .state == State::incomplete);
}

TEST_CASE("an interrupted document is incomplete even where it has numbers") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].document->run.partial = "interrupted";
  CHECK(judged(c).state == State::incomplete);
}

TEST_CASE("a failure is a failure although another host is missing, and both are said") {
  Campaign c = campaign({{"n1", 0.5}, {"n2", 100}});
  c.jobs[1].state = JobState::failed;
  c.jobs[1].document.reset();
  const CriterionVerdict v = judged(c);
  CHECK(v.state == State::fail);
  CHECK(says(v, "n1:0"));
  CHECK(says(v, "not measured"));
  CHECK(says(v, "on n2"));
}

TEST_CASE("two names of one machine do not make two hosts") {
  Campaign c = campaign({{"a", 100}, {"b", 100}});
  for (Job& job : c.jobs) job.document->run.hosts = {"same"};
  const CriterionVerdict v = judged(c);
  CHECK(v.state == State::incomplete);
  CHECK(says(v, "b is the same machine as a"));
}

TEST_CASE("hosts asked for by address or long name are known by the name they answer with") {
  Campaign c = campaign({{"10.0.0.1", 100}});
  c.jobs[0].document = document({"n1"}, {record({{{"n1", "rank", "0"}, 100}})});
  CHECK(judged(c).state == State::pass);
  Campaign across;
  across.hosts = {"n1.cluster.example"};
  across.jobs.push_back(done("", document({"n1"}, {record({{{"n1", "rank", "0"}, 5}})})));
  CHECK(judged(across).state == State::pass);
}

TEST_CASE("nothing judged is incomplete") {
  const Campaign c = campaign({{"n1", 100}});
  const Profile empty = profile({});
  const Judgement j = judge(c, empty, {}, kToday);
  CHECK(j.overall() == State::incomplete);
  CHECK(exit_code(j) == ExitCode::incomplete);
}

TEST_CASE("a part that could not tell what its neighbours told is a gap, whatever its kind") {
  for (const std::string kind : {"gpu", "nic", "disk", "numa", "cpu"}) {
    CAPTURE(kind);
    const Profile p = profile({metric_criterion({.metric = "bytes_per_second", .min = 1})});
    Campaign c = campaign({{"n1", 100}});
    Record& r = c.jobs[0].document->records[0];
    r = record({{{"n1", kind, "0"}, 100}, {{"n1", kind, "1"}, 100}});
    CHECK(verdict(c, p).state == State::pass);
    r.metrics[1].name = "temperature_celsius";
    const CriterionVerdict v = verdict(c, p);
    CHECK(v.state == State::incomplete);
    CHECK(v.reason.find("n1:1 has no bytes_per_second") != std::string::npos);
  }
}

TEST_CASE("parts of another kind need not have the number") {
  const Profile p = profile({metric_criterion({.metric = "bytes_per_second", .min = 1})});
  Campaign c = campaign({{"n1", 100}});
  Record& r = c.jobs[0].document->records[0];
  r = record({{{"n1", "nic", "mlx5_0"}, 100}});
  r.checks.push_back({.name = "alive", .passed = true, .entity = r.entity({"n1", "gpu", "0"})});
  CHECK(verdict(c, p).state == State::pass);
}

namespace {

Job group_job(const std::vector<std::string>& members, JobState state = JobState::failed) {
  Job job{.step = "s", .group = "pair-001-002", .members = members, .state = state};
  job.reason = state == JobState::done ? "" : "a rank was lost: n2 rank 3: gone";
  return job;
}

Job measured_group(const std::vector<std::string>& members) {
  Job job = done(
      "",
      document(members, {record({{{members[0], "host", ""}, 5}, {{members[1], "host", ""}, 5}})}));
  job.group = "pair-003-004";
  job.members = members;
  return job;
}

Campaign of_groups(std::vector<Job> jobs) {
  Campaign c;
  c.hosts = {"n1", "n2", "n3", "n4"};
  c.jobs = std::move(jobs);
  return c;
}

}  // namespace

TEST_CASE("a job of a group that did not end is a gap of its members, with its reason") {
  const Campaign c = of_groups({group_job({"n1", "n2"}), measured_group({"n3", "n4"})});
  const CriterionVerdict v = judged(c);
  CHECK(v.state == State::incomplete);
  REQUIRE(v.gaps.size() == 2);
  CHECK(v.gaps[0].host == "n1");
  CHECK(v.gaps[1].host == "n2");
  CHECK(v.gaps[0].what == v.gaps[1].what);
  CHECK(v.gaps[0].group == "pair-001-002");
  // The reason is said once, and nothing else is.
  CHECK(v.reason ==
        "step s on pair-001-002 (n1, n2) failed: a rank was lost: n2 rank 3: gone; repeat it with "
        "run --resume");
  CHECK(judged(of_groups({measured_group({"n1", "n2"}), measured_group({"n3", "n4"})})).state ==
        State::pass);
}

TEST_CASE("a group's partial document without the point asks for no change of the step") {
  Campaign c = of_groups({group_job({"n1", "n2"}), measured_group({"n3", "n4"})});
  c.jobs[0].document = document({"n1", "n2"}, {});
  c.jobs[0].document->run.partial = "a rank was lost";
  const CriterionVerdict v = judged(c);
  CHECK(v.gaps.size() == 4);  // it failed, and it ended early, of two hosts
  CHECK_FALSE(says(v, "add the point"));
  CHECK_FALSE(says(v, "contributed nothing"));
  c.jobs[0].document->run.partial.reset();
  c.jobs[0].state = JobState::done;
  CHECK(says(judged(c), "add the point"));
}

TEST_CASE("a group without members leaves open what it leaves open, of no host") {
  Campaign c = of_groups({group_job({})});
  c.hosts = {"n1"};
  const CriterionVerdict v = judged(c);
  REQUIRE(v.gaps.size() == 1);
  CHECK(v.gaps[0].host.empty());
}

TEST_CASE("equal reasons are said once, and what is left out is counted once") {
  std::vector<Job> jobs;
  for (const std::string host : {"n1", "n2", "n3", "n4"}) {
    jobs.push_back({.step = "s", .host = host, .state = JobState::failed});
    jobs.back().reason = "broke";
  }
  CHECK(says(judged(of_groups(jobs)), "and 1 more"));
  Job eight = group_job({"n1", "n2", "n3", "n4"});
  const CriterionVerdict v = judged(of_groups({eight}));
  CHECK(v.gaps.size() == 4);
  CHECK_FALSE(says(v, "more"));
}
