#include <cmath>

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

State state_of(double value, const MetricRule& rule, Severity severity = Severity::fail) {
  Criterion c = metric_criterion(rule);
  c.severity = severity;
  const Profile p = profile({c});
  return verdict(campaign({{"n1", value}}), p).state;
}

double below(double x) { return std::nextafter(x, 0.0); }
double above(double x) { return std::nextafter(x, 1e300); }

}  // namespace

TEST_CASE("a minimum passes at the limit and fails just below it") {
  const MetricRule rule{.metric = "bytes_per_second", .min = 100};
  CHECK(state_of(100, rule) == State::pass);
  CHECK(state_of(above(100), rule) == State::pass);
  CHECK(state_of(below(100), rule) == State::fail);
}

TEST_CASE("a maximum passes at the limit and fails just above it") {
  const MetricRule rule{.metric = "bytes_per_second", .max = 100};
  CHECK(state_of(100, rule) == State::pass);
  CHECK(state_of(below(100), rule) == State::pass);
  CHECK(state_of(above(100), rule) == State::fail);
}

TEST_CASE("with both limits either side fails, and the limit passed is the one reported") {
  const Profile p =
      profile({metric_criterion({.metric = "bytes_per_second", .min = 90, .max = 110})});
  CHECK(verdict(campaign({{"n1", 90}}), p).state == State::pass);
  CHECK(verdict(campaign({{"n1", 110}}), p).state == State::pass);
  const CriterionVerdict low = verdict(campaign({{"n1", 89}}), p);
  CHECK(low.state == State::fail);
  CHECK(low.limit == 90.0);
  CHECK(low.limit_is_minimum);
  const CriterionVerdict high = verdict(campaign({{"n1", 111}}), p);
  CHECK(high.state == State::fail);
  CHECK(high.limit == 110.0);
  CHECK_FALSE(high.limit_is_minimum);
}

TEST_CASE("a share of a ceiling, from both sides") {
  const Profile p =
      profile({metric_criterion({.metric = "bytes_per_second", .min_of_ceiling = 0.5})});
  CHECK(verdict(campaign({{"n1", 100}}, 200.0), p).state == State::pass);
  const CriterionVerdict v = verdict(campaign({{"n1", below(100)}}, 200.0), p);
  CHECK(v.state == State::fail);
  CHECK(v.limit == 100.0);
  CHECK(v.ceiling->value == 200.0);
}

TEST_CASE("severity warn warns, and does not stop acceptance") {
  const MetricRule rule{.metric = "bytes_per_second", .min = 100};
  CHECK(state_of(below(100), rule, Severity::warn) == State::warn);
  CHECK(state_of(100, rule, Severity::warn) == State::pass);
  Criterion c = metric_criterion(rule);
  c.severity = Severity::warn;
  const Profile p = profile({c});
  const Campaign slow = campaign({{"n1", 1}});
  const Judgement j = judge(slow, p, {}, kToday);
  CHECK(j.overall() == State::pass);
  CHECK(exit_code(j) == ExitCode::ok);
}

TEST_CASE("the worst entity decides and is named with value, ratio and file") {
  const Profile p = profile({metric_criterion({.metric = "bytes_per_second", .min = 100})});
  const CriterionVerdict v = verdict(campaign({{"n1", 90}, {"n2", 50}, {"n3", 200}}), p);
  CHECK(v.state == State::fail);
  CHECK(entity_name(*v.worst) == "n2:0");
  CHECK(v.value == 50.0);
  CHECK(v.ratio == 0.5);
  CHECK(v.entities == 3);
  CHECK(v.reason.find("n2:0 has") != std::string::npos);
  CHECK(v.reason.find("records/001-s.json") != std::string::npos);
  CHECK(v.reason.find("1 more fail") != std::string::npos);
}

TEST_CASE("the statistic asked for is compared") {
  Campaign c = campaign({{"n1", 100}});
  Samples samples;
  for (int i = 1; i <= 5; ++i) samples.add(i);  // median 3, min 1, max 5, mean 3
  c.jobs[0].document->records[0].metrics[0].samples = samples;
  for (const auto& entry : {std::pair("min", 1.0), std::pair("median", 3.0), std::pair("mean", 3.0),
                            std::pair("max", 5.0), std::pair("p05", 1.2), std::pair("p95", 4.8)}) {
    const std::string name = entry.first;
    const Profile p =
        profile({metric_criterion({.metric = "bytes_per_second", .statistic = name, .min = 0})});
    CHECK_MESSAGE(*verdict(c, p).value == doctest::Approx(entry.second), name);
  }
}

TEST_CASE("at selects the records; sizes are compared as numbers") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].document->records.push_back(record({{{"n1", "rank", "0"}, 1}}, {}, 4096));
  const auto at = [&](const std::string& size) {
    const Profile p = profile(
        {metric_criterion({.metric = "bytes_per_second", .at = {{"size", {size}}}, .min = 50})});
    return verdict(c, p);
  };
  CHECK(at("1K").state == State::pass);
  CHECK(at("1024").state == State::pass);
  CHECK(at("4K").state == State::fail);
  CHECK(at("4K").at == "size 4K");
  CHECK(at("2K").state == State::incomplete);
  CHECK(at("2K").reason.find("size 2K") != std::string::npos);
}

TEST_CASE("wrong data fails, although there is no number") {
  Campaign c = campaign({{"n1", 100}});
  Record& r = c.jobs[0].document->records[0];
  r.metrics.clear();
  r.checks[0].passed = false;
  r.checks[0].detail = "element 7";
  const Profile p = profile({metric_criterion({.metric = "bytes_per_second", .min = 1})});
  const CriterionVerdict v = verdict(c, p);
  CHECK(v.state == State::fail);
  CHECK_FALSE(v.value);
  CHECK(v.reason.find("n1:0: check data failed: element 7") != std::string::npos);
}

TEST_CASE("a limit of zero divides nothing") {
  const MetricRule rule{.metric = "bytes_per_second", .max = 0};
  CHECK(state_of(0, rule) == State::pass);
  CHECK(state_of(1e-300, rule) == State::fail);
}

TEST_CASE(
    "a limit above a stated ceiling is a wrong profile, one above a measured ceiling is not") {
  const Profile p = profile({metric_criterion({.metric = "bytes_per_second", .min = 300})});
  const auto impossible = [&](const Said& how) {
    Campaign c = campaign({{"n1", 90}});
    c.jobs[0].document->records[0].metrics[0].ceiling = Ceiling{200, how};
    const CriterionVerdict v = verdict(c, p);
    CHECK(v.state == State::fail);
    return v.impossible;
  };
  CHECK(impossible("of a data sheet"));
  CHECK(impossible(said("gpu.dense_only", "H200")));
  CHECK_FALSE(impossible(said("memory.ceiling_measured")));
  for (const char* id :
       {"infer.prefill_ceiling", "infer.decode_ceiling", "train.predicted_by_parts"})
    CHECK_FALSE(impossible(said(id)));
  CHECK_FALSE(impossible(said("infer.read_ceiling", 2)));
  CHECK_FALSE(impossible(said("cg.ceiling", 2)));
  CHECK_FALSE(impossible(said_count("lu.ceiling", 2, "OpenBLAS")));
}

TEST_CASE("the worst part is the furthest from its limit as a share of it, not in bytes") {
  Campaign c = campaign({{"n1", 90}, {"n2", 950}});
  c.jobs[0].document->records[0].metrics[0].ceiling = Ceiling{200, "test"};
  c.jobs[1].document->records[0].metrics[0].ceiling = Ceiling{2000, "test"};
  const Profile p =
      profile({metric_criterion({.metric = "bytes_per_second", .min_of_ceiling = 0.5})});
  const CriterionVerdict v = verdict(c, p);
  CHECK(v.state == State::fail);
  CHECK(v.failing.size() == 2);
  CHECK(entity_name(*v.worst) == "n1:0");
  CHECK(v.value == 90.0);
  CHECK(v.limit == 100.0);
}
