#include <doctest/doctest.h>

#include "core/error.h"
#include "judge/waivers_match.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

const std::string kGood = R"({"schema": "clusterbench.waivers/1", "waivers": [
  {"id": "w1", "criterion": "c", "scope": "n2:*", "reason": "slow fan", "approver": "A. Buyer",
   "ticket": "OPS-77", "limit": 80, "expires": "2026-11-21"}]})";

std::string without(const std::string& key) {
  std::string text = kGood;
  const size_t begin = text.find("\"" + key + "\"");
  return text.replace(begin, key.size() + 2, "\"x-" + key + "\"");
}

Profile slow_profile() {
  return profile({metric_criterion({.metric = "bytes_per_second", .min = 100})});
}

}  // namespace

TEST_CASE("a waiver is read") {
  const auto waivers = parse_waivers(kGood, "w.json");
  REQUIRE(waivers.size() == 1);
  CHECK(waivers[0].scope == "n2:*");
  CHECK(waivers[0].limit == 80);
}

TEST_CASE("every member of a waiver is needed, and unknown ones are named") {
  for (const char* key :
       {"id", "criterion", "scope", "reason", "approver", "ticket", "limit", "expires"}) {
    CHECK_THROWS_WITH_AS(parse_waivers(without(key), "w.json"),
                         doctest::Contains((std::string("waivers[0].") + key).c_str()), UsageError);
    CHECK_THROWS_WITH_AS(parse_waivers(without(key), "w.json"),
                         doctest::Contains((std::string("x-") + key).c_str()), UsageError);
  }
  CHECK_THROWS_AS(parse_waivers("{}", "w.json"), UsageError);
  CHECK_THROWS_AS(parse_waivers(R"({"schema": "clusterbench.waivers/2", "waivers": []})", "w.json"),
                  UsageError);
}

TEST_CASE("days that exist") {
  CHECK(is_date("2026-11-21"));
  CHECK(is_date("2028-02-29"));
  CHECK_FALSE(is_date("2026-02-29"));
  CHECK_FALSE(is_date("2026-13-01"));
  CHECK_FALSE(is_date("2026-1-1"));
  CHECK_FALSE(is_date("tomorrow.."));
}

TEST_CASE("every character of a day counts") {
  for (size_t i = 0; i < 10; ++i) {
    for (const char c : {'x', '/', ':', ' ', '-', '+'}) {
      std::string day = "2026-11-21";
      if (day[i] == c) continue;
      day[i] = c;
      CHECK_FALSE_MESSAGE(is_date(day), day);
    }
  }
  for (const char* day : {"2026-00-10", "2026-13-10", "2026-01-00", "2026-04-31", "2023-02-29",
                          "2026-11-2", "2026-11-211", ""})
    CHECK_FALSE_MESSAGE(is_date(day), day);
  for (const char* day : {"2024-02-29", "0001-01-01", "9999-12-31", "2026-10-09", "2030-08-30"})
    CHECK_MESSAGE(is_date(day), day);
}

TEST_CASE("globs match whole names") {
  CHECK(glob_match("node012:*", "node012:mlx5_3"));
  CHECK_FALSE(glob_match("node012:*", "node013:mlx5_3"));
  CHECK(glob_match("node01?:5", "node012:5"));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("a*b*c", "a-b-b-c"));
  CHECK_FALSE(glob_match("a*b", "a-b-c"));
  CHECK_FALSE(glob_match("n", "n1"));
  CHECK_FALSE(glob_match("[n]1", "n1"));
}

TEST_CASE("a failing entity within the limit is waived; the last day counts") {
  const Profile p = slow_profile();
  const Campaign c = campaign({{"n1", 100}, {"n2", 80}});
  const std::vector<Waiver> waivers{waiver()};
  const Judgement j = judge(c, p, waivers, "2026-11-21");
  CHECK(j.criteria[0].state == State::waived);
  CHECK(j.criteria[0].waiver == &waivers[0]);
  CHECK(entity_name(*j.criteria[0].worst) == "n2:0");
  CHECK(j.overall() == State::pass);
  CHECK(exit_code(j) == ExitCode::ok);
}

TEST_CASE("beyond its limit it still fails, and says so") {
  const Profile p = slow_profile();
  const CriterionVerdict v = verdict(campaign({{"n1", 100}, {"n2", 79.9}}), p, {waiver()});
  CHECK(v.state == State::fail);
  CHECK(v.reason.find("beyond the limit of waiver w1") != std::string::npos);
}

TEST_CASE("a waiver for one host does not cover another") {
  const Profile p = slow_profile();
  const CriterionVerdict v = verdict(campaign({{"n1", 99}, {"n2", 80}}), p, {waiver()});
  CHECK(v.state == State::fail);
  CHECK(entity_name(*v.worst) == "n1:0");
}

TEST_CASE("a maximum is waived up to its limit") {
  const Profile p = profile({metric_criterion({.metric = "bytes_per_second", .max = 50})});
  CHECK(verdict(campaign({{"n1", 50}, {"n2", 80}}), p, {waiver()}).state == State::waived);
  CHECK(verdict(campaign({{"n1", 50}, {"n2", 81}}), p, {waiver()}).state == State::fail);
}

TEST_CASE("a waiver does not stand in for a measurement") {
  const Profile p = slow_profile();
  Campaign c = campaign({{"n1", 100}, {"n2", 80}});
  c.jobs[0].state = JobState::failed;
  c.jobs[0].document.reset();
  CHECK(verdict(c, p, {waiver()}).state == State::incomplete);
}

TEST_CASE("expired, unmatched and unknown waivers are errors") {
  const Profile p = slow_profile();
  const Campaign slow = campaign({{"n1", 100}, {"n2", 80}});
  CHECK_THROWS_WITH_AS(judge(slow, p, {waiver()}, "2026-11-22"), doctest::Contains("expired"),
                       UsageError);
  const Campaign fine = campaign({{"n1", 100}, {"n2", 100}});
  CHECK_THROWS_WITH_AS(judge(fine, p, {waiver()}, kToday), doctest::Contains("fails"), UsageError);
  Waiver other = waiver();
  other.criterion = "d";
  CHECK_THROWS_WITH_AS(judge(slow, p, {other}, kToday), doctest::Contains("no criterion d"),
                       UsageError);
}

TEST_CASE("wrong data has no value, so no limit can waive it") {
  const Profile p = slow_profile();
  Campaign c = campaign({{"n1", 100}, {"n2", 80}});
  c.jobs[1].document->records[0].checks[0].passed = false;
  c.jobs[1].document->records[0].metrics.clear();
  CHECK(verdict(c, p, {waiver()}).state == State::fail);
}

TEST_CASE("a limit may tell its unit, which must be that of what it waives") {
  const auto with = [](const std::string& limit) {
    std::string text = kGood;
    return parse_waivers(text.replace(text.find(": 80") + 2, 2, limit), "w.json");
  };
  CHECK(with("\"15 GB/s\"")[0].limit == 15e9);
  CHECK(with("\"15 GB/s\"")[0].unit == "bytes_per_second");
  CHECK(with("80")[0].unit.empty());
  for (const char* malformed : {"\"80\"", "\"fast\"", "\"8 GB/x\"", "[80]"})
    CHECK_THROWS_WITH_AS(with(malformed), doctest::Contains("waivers[0].limit  is neither"),
                         UsageError);
  const Profile p = slow_profile();
  const Campaign c = campaign({{"n1", 100}, {"n2", 80}});
  CHECK(verdict(c, p, with("\"80 B/s\"")).state == State::waived);
  CHECK(verdict(c, p, with("\"81 B/s\"")).state == State::fail);
  CHECK_THROWS_WITH_AS(
      verdict(c, p, with("\"80 ms\"")),
      doctest::Contains("w1  its limit is in seconds, what it waives in bytes_per_second"),
      UsageError);
}

TEST_CASE("a scope of wildcards alone, and a limit that bounds nothing, are refused") {
  const auto with = [](std::string_view old, std::string_view now) {
    std::string text = kGood;
    return text.replace(text.find(old), old.size(), now);
  };
  for (const char* scope : {"*", "?*", "*:*", " * "})
    CHECK_THROWS_WITH_AS(parse_waivers(with("n2:*", scope), "w.json"),
                         doctest::Contains("waivers[0].scope  is everything"), UsageError);
  CHECK(parse_waivers(with("n2:*", "*:5"), "w.json").size() == 1);
  for (const char* limit : {"-1e308", "0"})
    CHECK_THROWS_WITH_AS(parse_waivers(with("80", limit), "w.json"),
                         doctest::Contains("waivers[0].limit  is not above 0"), UsageError);
}

TEST_CASE("a waiver whose limit nothing can pass is refused, for a minimum and for a maximum") {
  const Campaign slow = campaign({{"n1", 100}, {"n2", 80}});
  const Profile least = slow_profile();
  const Profile most = profile({metric_criterion({.metric = "bytes_per_second", .max = 99})});
  Waiver w = waiver();
  w.limit = 0.5;
  CHECK_THROWS_WITH_AS(judge(slow, least, {w}, kToday),
                       doctest::Contains("w1  its limit is 0.5, which nothing falls below"),
                       UsageError);
  w.scope = "n1:*";
  w.limit = 1e300;
  CHECK_THROWS_WITH_AS(judge(slow, most, {w}, kToday), doctest::Contains("which nothing exceeds"),
                       UsageError);
}

TEST_CASE("a waiver is for a while: three years on, not longer") {
  const Profile p = slow_profile();
  const Campaign slow = campaign({{"n1", 100}, {"n2", 80}});
  Waiver w = waiver();
  w.expires = "2029-11-21";
  CHECK(verdict(slow, p, {w}).state == State::waived);
  for (const char* day : {"2029-11-22", "2030-01-01", "9999-12-31"}) {
    w.expires = day;
    CHECK_THROWS_WITH_AS(judge(slow, p, {w}, kToday), doctest::Contains("3 years at most"),
                         UsageError);
  }
}

TEST_CASE("what is no text where a text belongs is refused, and a blank one is none") {
  const auto with = [](const std::string& key, const std::string& value) {
    std::string text = kGood;
    const size_t begin = text.find("\"" + key + "\":") + key.size() + 3;
    const size_t end = text.find_first_of(",}", begin);
    return text.replace(begin, end - begin, " " + value);
  };
  for (const char* key : {"id", "criterion", "scope", "reason", "approver", "ticket", "expires"}) {
    for (const char* value : {"5", "null", "[]", "\"\"", "\"  \""})
      CHECK_THROWS_WITH_AS(parse_waivers(with(key, value), "w.json"),
                           doctest::Contains((std::string("waivers[0].") + key).c_str()),
                           UsageError);
  }
  for (const char* value : {"\"80\"", "null", "1e999"})
    CHECK_THROWS_AS(parse_waivers(with("limit", value), "w.json"), UsageError);
  CHECK_THROWS_WITH_AS(
      parse_waivers(R"({"schema": "clusterbench.waivers/1", "waivers": [5]})", "w"),
      doctest::Contains("waivers[0]"), UsageError);
  CHECK_THROWS_WITH_AS(parse_waivers(R"({"schema": "clusterbench.waivers/1", "waivers": {}})", "w"),
                       doctest::Contains("not a list"), UsageError);
  CHECK_THROWS_WITH_AS(
      parse_waivers(R"({"schema": "clusterbench.waivers/1", "waivers": [], "x": 1})", "w"),
      doctest::Contains("x "), UsageError);
}

namespace {

// Two failed checks of n2, which a check criterion counts.
Campaign with_failed_checks(bool finding) {
  Campaign c = campaign({{"n1", 100}, {"n2", 80}});
  Record& record = c.jobs[1].document->records[0];
  record.checks[0] = {.name = "data", .entity = 0, .detail = "3 bytes", .finding = finding};
  record.metrics.clear();
  return c;
}

Profile data_profile() {
  Criterion c{.id = "c", .step = "s", .domain = "host"};
  c.rule = CheckRule{.check = "data"};
  return profile({c});
}

}  // namespace

TEST_CASE(
    "no limit waives wrong data, though a check criterion counts it; a part's defect it may") {
  const Profile p = data_profile();
  Waiver w = waiver();
  for (const double limit : {1.0, 2.0, 1e6}) {
    w.limit = limit;
    const CriterionVerdict wrong = verdict(with_failed_checks(false), p, {w});
    CHECK(wrong.state == State::fail);
    CHECK(wrong.reason.find("wrong data is not waived, not by w1 either") != std::string::npos);
    CHECK(verdict(with_failed_checks(true), p, {w}).state == State::waived);
  }
  w.limit = 0.5;  // one failed check is beyond it
  CHECK(verdict(with_failed_checks(true), p, {w}).state == State::fail);
}

TEST_CASE("each waiver that lets a part pass is named, not only that of the worst part") {
  const Profile p = slow_profile();
  const Campaign c = campaign({{"n1", 90}, {"n2", 80}, {"n3", 95}});
  Waiver other = waiver();
  other.id = "w2";
  other.scope = "n*";
  const std::vector<Waiver> both{waiver(), other};
  const CriterionVerdict v = verdict(c, p, both);
  REQUIRE(v.state == State::waived);
  CHECK(v.waiver->id == "w1");
  CHECK(v.waivers.size() == 2);
  CHECK(v.reason.ends_with("other parts are waived by w2"));
  for (const Finding& f : v.failing) CHECK(f.waiver == (f.entity.host == "n2" ? "w1" : "w2"));
}
