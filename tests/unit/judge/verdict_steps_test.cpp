// A step is judged by its data and its completeness, whether a criterion names it or not.
#include <doctest/doctest.h>

#include <algorithm>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

Record with_check(const std::string& host, Check check, int64_t size = 1024) {
  Record r = record({{{host, "rank", "0"}, 100}}, {}, size);
  r.checks.push_back(std::move(check));
  return r;
}

// Step "s" is healthy and judged; nothing judges step "t", which `job` is the job of.
struct Case {
  Campaign c = campaign({{"n1", 100}});
  Profile p = test::profile({metric_criterion({.metric = "bytes_per_second", .min = 50})});

  explicit Case(Job job) {
    p.steps.push_back({.id = "t", .case_name = "fake"});
    job.step = "t";
    if (job.file.empty()) job.file = "records/002-t.json";
    c.jobs.push_back(std::move(job));
    c.profile = p;
  }
  Judgement judged() const& { return judge(c, p, {}, kToday); }
  Judgement judged() && = delete;  // a judgement points into the profile
};

Job measured(Record r) { return done("n1", document({"n1"}, {std::move(r)})); }

}  // namespace

TEST_CASE("a healthy step that nothing judges adds no line") {
  const Case healthy(measured(with_check("n1", {.name = "x", .passed = true})));
  const Judgement j = healthy.judged();
  CHECK(j.criteria.size() == 1);
  CHECK(exit_code(j) == ExitCode::ok);
}

TEST_CASE("wrong data in a step that nothing judges is not accepted, in a line of its own") {
  const Case wrong(measured(with_check("n1", {.name = "data", .detail = "3 bytes"})));
  const Judgement j = wrong.judged();
  REQUIRE(j.criteria.size() == 2);
  const CriterionVerdict& v = j.criteria[1];
  CHECK(v.criterion->id == "step:t");
  CHECK(v.criterion->title.zh == "步骤 t：数据正确且完整");
  CHECK(v.state == State::fail);
  CHECK(v.reason == "n1:0: check data failed: 3 bytes; see records/001-s.json");
  CHECK(exit_code(j) == ExitCode::not_accepted);
}

TEST_CASE("a job that failed, was killed or never ran leaves the campaign incomplete") {
  for (const JobState state : {JobState::failed, JobState::deadline, JobState::missing}) {
    const Case lost({.host = "n1", .state = state, .reason = "exit 7"});
    const Judgement j = lost.judged();
    REQUIRE(j.criteria.size() == 2);
    CHECK(j.criteria[1].state == State::incomplete);
    CHECK(j.criteria[1].reason.find("exit 7; repeat it with run --resume") != std::string::npos);
    CHECK(exit_code(j) == ExitCode::incomplete);
  }
}

TEST_CASE("a skipped and an errored record leave the campaign incomplete") {
  Record skipped{.case_name = "fake"}, errored{.case_name = "fake"};
  skipped.outcome = Skipped{"no RDMA device"};
  errored.outcome = Errored{"n1", "out of memory"};
  for (const Record& r : {skipped, errored}) {
    const Case missing(measured(r));
    const Judgement j = missing.judged();
    REQUIRE(j.criteria.size() == 2);
    CHECK(j.criteria[1].state == State::incomplete);
  }
  const Case left_out(measured(skipped));
  CHECK(left_out.judged().criteria[1].reason == "step t on n1 was skipped: no RDMA device");
}

TEST_CASE("a host that took no part is missed, and so is a step that never was") {
  Case lost(measured(record({{{"n1", "rank", "0"}, 100}})));
  lost.c.hosts.push_back("n2");
  const Judgement j = lost.judged();
  CHECK(j.criteria.back().criterion->id == "step:t");
  CHECK(j.criteria.back().reason == "n2 contributed nothing to step t: see logs/");
  Case never(measured(record({{{"n1", "rank", "0"}, 100}})));
  never.p.steps.push_back({.id = "u", .case_name = "fake"});
  CHECK(exit_code(never.judged()) == ExitCode::incomplete);
}

TEST_CASE("a step whose needs no host meets says nothing") {
  Case absent({.host = "n1", .state = JobState::not_applicable});
  absent.p.steps[1].needs = {{"gpu", 1}};
  const Judgement j = absent.judged();
  CHECK(j.criteria.size() == 1);
  CHECK(exit_code(j) == ExitCode::ok);
}

TEST_CASE("no severity makes wrong data a warning") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].document->records = {with_check("n1", {.name = "data"})};
  Criterion metric = metric_criterion({.metric = "bytes_per_second", .min = 50});
  Criterion check{.id = "k", .step = "s", .domain = "host", .rule = CheckRule{.check = "data"}};
  metric.severity = check.severity = Severity::warn;
  for (const Criterion& criterion : {metric, check}) {
    const Profile p = test::profile({criterion});
    const Judgement j = judge(c, p, {}, kToday);
    REQUIRE(j.criteria.size() == 1);  // the criterion says it: no second line
    CHECK(j.criteria[0].state == State::fail);
    CHECK(exit_code(j) == ExitCode::not_accepted);
  }
}

TEST_CASE("a figure beyond a limit of severity warn stays a warning") {
  Criterion metric = metric_criterion({.metric = "bytes_per_second", .min = 101});
  metric.severity = Severity::warn;
  const Profile p = test::profile({metric});
  const Judgement j = judge(campaign({{"n1", 100}}), p, {}, kToday);
  REQUIRE(j.criteria.size() == 1);
  CHECK(j.criteria[0].state == State::warn);
}

TEST_CASE("a finding about a part, as wrong GPUs and suspects are, is no warning either") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].document->records = {with_check("n1", {.name = "product", .finding = true})};
  Criterion metric = metric_criterion({.metric = "bytes_per_second", .min = 50});
  Criterion check{.id = "k", .step = "s", .domain = "host", .rule = CheckRule{.check = "product"}};
  metric.severity = check.severity = Severity::warn;
  for (const Criterion& criterion : {metric, check}) {
    const Profile p = test::profile({criterion});
    CHECK(judge(c, p, {}, kToday).overall() == State::fail);
  }
}

TEST_CASE("wrong data at a point that no criterion selects fails as well") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].document->records.push_back(with_check("n1", {.name = "data"}, 4096));
  const Profile p = test::profile(
      {metric_criterion({.metric = "bytes_per_second", .at = {{"size", {"1K"}}}, .min = 50})});
  const Judgement j = judge(c, p, {}, kToday);
  REQUIRE(j.criteria.size() == 2);
  CHECK(j.criteria[0].state == State::pass);
  CHECK(j.criteria[1].state == State::fail);
  CHECK(j.criteria[1].at == "size 4K");
}

TEST_CASE("a profile without the step does not undo the wrong data that was found in it") {
  const Profile narrow =
      test::profile({metric_criterion({.metric = "bytes_per_second", .min = 50})});
  const Case wrong(measured(with_check("n1", {.name = "data"})));
  CHECK(judge(wrong.c, narrow, {}, kToday).overall() == State::fail);
  const Case lost({.host = "n1", .state = JobState::failed});
  CHECK(judge(lost.c, narrow, {}, kToday).overall() == State::pass);
}

namespace {

// Step "t" asks for `sizes`, and its job has records of `measured` sizes.
Case sweep(const std::vector<std::string>& sizes, const std::vector<int64_t>& measured_sizes) {
  std::vector<Record> records;
  for (const int64_t size : measured_sizes)
    records.push_back(record({{{"n1", "rank", "0"}, 100}}, {}, size));
  Case out(done("n1", document({"n1"}, std::move(records))));
  out.p.steps[1].params["size"] = sizes;
  out.c.profile = out.p;
  return out;
}

}  // namespace

TEST_CASE("a sweep without one of its points is incomplete, and the point is named") {
  for (const std::vector<std::string>& sizes :
       {std::vector<std::string>{"1K", "2K"}, std::vector<std::string>{"1024,2K"}}) {
    const Case whole = sweep(sizes, {1024, 2048});
    CHECK(exit_code(whole.judged()) == ExitCode::ok);
    const Case torn = sweep(sizes, {1024});
    const Judgement j = torn.judged();
    REQUIRE(j.criteria.size() == 2);
    CHECK(j.criteria[1].state == State::incomplete);
    CHECK(j.criteria[1].reason ==
          "step t on n1 has no record of size 2K, which it asks for: repeat it with clusterbench "
          "run --resume");
  }
}

TEST_CASE("a step that does not list points, and one whose records hold the list, miss none") {
  const Case one = sweep({"2K"}, {1024}), word = sweep({"1K", "all"}, {1024});
  CHECK(exit_code(one.judged()) == ExitCode::ok);
  CHECK(exit_code(word.judged()) == ExitCode::ok);
  Case list = sweep({"1K", "2K"}, {1024});
  list.c.jobs.back().document->records[0].params = Params();
  CHECK(exit_code(list.judged()) == ExitCode::ok);
}

TEST_CASE("members of a group whose job failed have its reason, and no other is said of them") {
  Job group{.group = "pair-001-002", .members = {"n1", "n2"}, .state = JobState::failed};
  group.reason = "n2 rank 3: gone";
  Case lost(group);
  lost.c.hosts = {"n1", "n2"};
  lost.p.criteria.clear();
  lost.c.profile = lost.p;
  const auto reason = [&] { return lost.judged().criteria.back().reason; };
  const Judgement j = lost.judged();
  REQUIRE(j.criteria.back().criterion->id == "step:t");
  REQUIRE(j.criteria.back().gaps.size() == 2);
  CHECK(j.criteria.back().gaps[0].host == "n1");
  CHECK(j.criteria.back().gaps[1].host == "n2");
  CHECK(reason().find("n2 rank 3: gone") != std::string::npos);
  CHECK(reason().find("contributed nothing") == std::string::npos);
  // Its document may have reached fewer hosts.
  lost.c.jobs.back().document = document({"n1"}, {});
  lost.c.jobs.back().document->run.partial = "a rank was lost";
  CHECK(reason().find("contributed nothing") == std::string::npos);
  // Of a job that is done, each member has to be there.
  lost.c.jobs.back() = done("", document({"n1"}, {record({{{"n1", "host", ""}, 5}})}));
  lost.c.jobs.back().step = "t";
  lost.c.jobs.back().group = group.group;
  lost.c.jobs.back().members = group.members;
  CHECK(reason().find("n2 contributed nothing to step t") != std::string::npos);
}
