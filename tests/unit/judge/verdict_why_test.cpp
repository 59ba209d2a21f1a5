// Why a criterion is what it is: which message, of which part, with which numbers.
#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

using Ids = std::vector<std::string>;

Ids ids_of(const std::vector<Message>& messages) {
  Ids out;
  for (const Message& m : messages) out.push_back(m.id);
  return out;
}

Profile limited(MetricRule rule, Severity severity = Severity::fail) {
  rule.metric = "bytes_per_second";
  Criterion c = metric_criterion(std::move(rule));
  c.severity = severity;
  return profile({c});
}

// One host whose samples these are.
Campaign sampled(const std::vector<double>& values) {
  Campaign c = campaign({{"n1", 1}});
  Samples samples;
  for (const double v : values) samples.add(v);
  c.jobs[0].document->records[0].metrics[0].samples = samples;
  return c;
}

State state_at(const std::vector<double>& values, const MetricRule& rule,
               Severity severity = Severity::fail) {
  const Profile p = limited(rule, severity);
  return verdict(sampled(values), p).state;
}

}  // namespace

TEST_CASE("a median whose interval holds the limit says neither, from both sides") {
  // Six samples: the interval goes from the smallest to the largest, 90 to 110; the median is 100.
  const std::vector<double> six{90, 96, 99, 101, 104, 110};
  CHECK(state_at(six, {.min = 89}) == State::pass);
  CHECK(state_at(six, {.min = 90}) == State::pass);
  CHECK(state_at(six, {.min = 90.5}) == State::incomplete);
  CHECK(state_at(six, {.min = 100}) == State::incomplete);
  CHECK(state_at(six, {.min = 110}) == State::incomplete);
  CHECK(state_at(six, {.min = 110.5}) == State::fail);
  CHECK(state_at(six, {.max = 89}) == State::fail);
  CHECK(state_at(six, {.max = 90}) == State::incomplete);
  CHECK(state_at(six, {.max = 109.5}) == State::incomplete);
  CHECK(state_at(six, {.max = 110}) == State::pass);
  // A warning and another statistic are taken as they are; five samples have no interval.
  CHECK(state_at(six, {.min = 101}, Severity::warn) == State::warn);
  CHECK(state_at(six, {.statistic = "mean", .min = 99}) == State::pass);
  CHECK(state_at({90, 96, 100, 104, 110}, {.min = 101}) == State::fail);
}

TEST_CASE("three gaps are named, more are counted") {
  const Profile p = limited({.min = 1});
  const auto gaps = [&](size_t hosts) {
    Campaign c;
    for (size_t i = 0; i < hosts; ++i) c.hosts.push_back("n" + std::to_string(i));
    c.jobs.push_back({.step = "s", .host = "n0"});
    c.jobs.push_back({.step = "s", .host = "n1"});
    return verdict(c, p).why;
  };
  CHECK(gaps(2).size() == 2);
  CHECK(gaps(3).size() == 3);
  REQUIRE(gaps(4).size() == 4);
  CHECK(gaps(4)[3].id == "why.gaps_more");
  CHECK(gaps(4)[3].args == std::vector<Arg>{"1"});
  CHECK(gaps(9).size() == 4);
  CHECK(gaps(9)[3].args == std::vector<Arg>{"6"});
}

TEST_CASE("what failed is said first, then where to look, how many more, and what is missing") {
  const Profile least = limited({.min = 100}), most = limited({.max = 10});
  Campaign c = campaign({{"n1", 50}});
  CHECK(ids_of(verdict(c, least).why) == Ids{"why.below", "why.see"});
  CHECK(ids_of(verdict(c, most).why) == Ids{"why.above", "why.see"});
  CHECK(verdict(c, least).why[1].args == std::vector<Arg>{"records/001-s.json"});
  c.jobs[0].file.clear();
  CHECK(ids_of(verdict(c, least).why) == Ids{"why.below"});
  c = campaign({{"n1", 50}, {"n2", 60}});
  CHECK(verdict(c, least).why.size() == 3);
  c.hosts.push_back("n3");
  const auto why = verdict(c, least).why;
  REQUIRE(why.size() == 5);
  CHECK(why[3].id == "why.also_missing");
  CHECK(why[4].id == "gap.nothing");
}

TEST_CASE("a limit beyond physics is said to be one, unless the bound was only measured") {
  const auto judged_at = [](double limit, double ceiling, const char* how, double value) {
    Campaign c = campaign({{"n1", value}}, ceiling);
    c.jobs[0].document->records[0].metrics[0].ceiling->how = how;
    const Profile p = limited({.min = limit});
    const Judgement j = judge(c, p, {}, kToday);
    CHECK(profile_problems(j).empty() != j.criteria[0].impossible);
    return std::pair(j.criteria[0].impossible, j.criteria[0].why.size());
  };
  CHECK(judged_at(100, 99, "by its clock", 50) == std::pair(true, size_t{3}));
  CHECK(judged_at(100, 100, "by its clock", 50) == std::pair(false, size_t{2}));
  CHECK(judged_at(100, 99, "measured here", 50) == std::pair(false, size_t{2}));
  Campaign two = campaign({{"n1", 50}, {"n2", 60}}, 99.0);
  const Profile p = limited({.min = 100});
  CHECK(verdict(two, p).impossible);
  two.jobs[1].document->records[0].metrics[0].ceiling->value = 200;
  CHECK_FALSE(verdict(two, p).impossible);  // it is possible for some
  const Profile most = limited({.max = 10});
  CHECK_FALSE(verdict(campaign({{"n1", 50}}, 5.0), most).impossible);
}

TEST_CASE(
    "what fails is listed worst first, what passes is not, and the ratio is that of the worst") {
  const Profile p = limited({.min = 100});
  const CriterionVerdict v = verdict(campaign({{"n1", 90}, {"n2", 50}, {"n3", 100}}), p);
  REQUIRE(v.failing.size() == 2);
  CHECK(v.failing[0].entity.host == "n2");
  CHECK(v.failing[1].entity.host == "n1");
  CHECK(v.ratio == 0.5);
  const Profile zero = limited({.max = 0});
  CHECK_FALSE(verdict(campaign({{"n1", 5}}), zero).ratio);
  const CriterionVerdict good = verdict(campaign({{"n1", 190}, {"n2", 150}}), p);
  CHECK(good.state == State::pass);
  CHECK(good.value == 150);
  CHECK(good.failing.empty());
  CHECK(good.entities == 2);
}

TEST_CASE("a verdict's names and codes, and what stands in the way of one") {
  const Profile p = limited({.min = 100});
  Campaign c = campaign({{"n1", 100}});
  CHECK(std::string(verdict_name(judge(c, p, {}, kToday))) == "accepted");
  c.warnings = {"a file was changed"};
  CHECK(std::string(verdict_name(judge(c, p, {}, kToday))) == "incomplete");
  CHECK(exit_code(judge(c, p, {}, kToday)) == ExitCode::incomplete);
  const Campaign slow = campaign({{"n1", 99}});
  CHECK(std::string(verdict_name(judge(slow, p, {}, kToday))) == "not-accepted");
  Profile other = p;
  other.sha256 = "x";
  CHECK(judge(slow, other, {}, kToday).judged_by == "test");
  CHECK(judge(slow, p, {}, kToday).judged_by.empty());
}

TEST_CASE("what only warns and is not all there is incomplete, not a warning") {
  const Profile p = limited({.min = 100}, Severity::warn);
  Campaign c = campaign({{"n1", 50}});
  CHECK(verdict(c, p).state == State::warn);
  c.hosts.push_back("n2");
  CHECK(verdict(c, p).state == State::incomplete);
}

TEST_CASE("a count of which none may be says how many there are, any other names its limit") {
  const auto said = [](const char* unit, double limit) {
    Campaign c = campaign({{"n1", 5}});
    c.jobs[0].document->records[0].metrics[0].unit = unit;
    const Profile p = limited({.max = limit});
    return verdict(c, p).why.at(0);
  };
  CHECK(said("count", 0).id == "why.failures");
  CHECK(said("count", 0).args == std::vector<Arg>{"n1:0", "5"});
  CHECK(said("count", 3).id == "why.above");
  CHECK(said("count", 3).args == std::vector<Arg>{"n1:0", "5", "3"});
  CHECK(said("seconds", 0).id == "why.above");
  CHECK(said("bytes_per_second", 2).args == std::vector<Arg>{"n1:0", "5.00 B/s", "2.00 B/s"});
}

TEST_CASE("how many more fail is said from the second on") {
  const Profile p = limited({.min = 100});
  const auto more = [&](const std::vector<std::pair<std::string, double>>& hosts) {
    for (const Message& m : verdict(campaign(hosts), p).why) {
      if (m.id.starts_with("why.more")) return say(Lang::en, m);
    }
    return std::string();
  };
  CHECK(more({{"n1", 50}, {"n2", 100}}).empty());
  CHECK(more({{"n1", 50}, {"n2", 60}}) == "1 more fails");
  CHECK(more({{"n1", 50}, {"n2", 60}, {"n3", 70}}) == "2 more fail");
}
