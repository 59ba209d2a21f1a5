// Limits from machines that are known to be good, and what differs between two profiles.
#include "judge/capture.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/stats.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;
using nlohmann::json;

namespace {

const char* const kResolved = R"({"steps": [{"id": "s", "case": "fake"}], "criteria": [
  {"id": "c", "step": "s", "metric": "bytes_per_second", "min": 1, "min_of_ceiling": 0.5},
  {"id": "d", "step": "s", "check": "data"},
  {"id": "e", "step": "s", "metric": "bytes_per_second", "max_ratio_of_host": 1.1},
  {"id": "f", "step": "s", "metric": "never_measured", "min": 1}]})";

// A finished campaign whose metric has these medians.
struct GoodCampaign {
  explicit GoodCampaign(const std::vector<double>& medians, Better better = Better::higher,
                        const std::string& ended = "2026-11-20T10:00:00Z") {
    campaign.id = "good";
    campaign.ended = ended;
    campaign.profile = profile({metric_criterion({.metric = "bytes_per_second"})});
    campaign.profile.resolved = kResolved;
    group.step = &campaign.profile.steps[0];
    group.metric = "bytes_per_second";
    group.unit = "bytes_per_second";
    group.better = better;
    for (const double v : medians) {
      MeasuredValue value;
      value.summary = summarise(std::vector<double>{v});
      group.values.push_back(value);
    }
  }
  KnownGood known() const { return {&campaign, {group}}; }

  Campaign campaign;
  MetricGroup group;
};

json captured(const std::vector<KnownGood>& all, std::vector<std::string>* thin = nullptr) {
  return json::parse(captured_profile(all, "mine", thin));
}

}  // namespace

TEST_CASE("the limit is three spreads or 3 % from the median, on the worse side, in three digits") {
  const GoodCampaign quiet({1000, 1001, 999});
  json c = captured({quiet.known()})["criteria"][0];
  CHECK(c["min"] == 970);
  CHECK_FALSE(c.contains("max"));
  CHECK_FALSE(c.contains("min_of_ceiling"));
  CHECK(c["source"]["kind"] == "measured");
  CHECK(c["source"]["date"] == "2026-11-20");
  CHECK(c["source"]["ref"]["en"] == "median 1.00 kB/s, spread 1.48 B/s, 3 entities of 1 campaigns");
  // Median 1000, MAD 20: 3 × 1.4826 × 20 = 88.956 below is 911.04, and above 1088.96.
  const GoodCampaign loud({980, 1000, 1020});
  CHECK(captured({loud.known()})["criteria"][0]["min"] == 911);
  const GoodCampaign late({980, 1000, 1020}, Better::lower);
  c = captured({late.known()})["criteria"][0];
  CHECK(c["max"] == 1090);
  CHECK_FALSE(c.contains("min"));
  const GoodCampaign wild({1, 100, 1000});
  CHECK(captured({wild.known()})["criteria"][0]["min"] == 0);
  const GoodCampaign exact({2, 2, 2});
  CHECK(captured({exact.known()})["criteria"][0]["min"] == 1.94);
}

TEST_CASE("fewer than three figures show no spread, and that is said") {
  std::vector<std::string> thin;
  const GoodCampaign two({100, 100});
  json c = captured({two.known()}, &thin)["criteria"][0];
  CHECK(thin == std::vector<std::string>{"c"});
  CHECK(c["source"]["ref"]["en"].get<std::string>().ends_with(": too few to know the spread"));
  thin.clear();
  const GoodCampaign one({100}, Better::higher, "2026-11-22T00:00:00Z");
  c = captured({two.known(), one.known()}, &thin)["criteria"][0];
  CHECK(thin.empty());
  CHECK(c["source"]["date"] == "2026-11-22");
  CHECK(c["source"]["ref"]["en"].get<std::string>().ends_with("3 entities of 2 campaigns"));
}

TEST_CASE("checks and comparisons within a host stay, what was not measured is left out") {
  const GoodCampaign good({1, 2, 3});
  const json out = captured({good.known()});
  CHECK(out["schema"] == "clusterbench.profile/1");
  CHECK(out["name"] == "mine");
  REQUIRE(out["criteria"].size() == 3);
  CHECK(out["criteria"][1] == json::parse(kResolved)["criteria"][1]);
  CHECK(out["criteria"][2] == json::parse(kResolved)["criteria"][2]);
}

TEST_CASE("what is asked of a drill stays as it was asked") {
  GoodCampaign good({1, 2, 3});
  json resolved = json::parse(kResolved);
  const json drill = {
      {"id", "g"}, {"step", "drill:cut-link"}, {"metric", "rate_after"}, {"min", 1}};
  resolved["criteria"].push_back(drill);
  resolved["criteria"].push_back({{"id", "u"}, {"uniform", {"cpu.model"}}});  // of no step
  good.campaign.profile.resolved = resolved.dump();
  const json out = captured({good.known()});
  REQUIRE(out["criteria"].size() == 5);
  CHECK(out["criteria"][3] == drill);
}

TEST_CASE("a step that nothing judges gets a limit for its first metric") {
  GoodCampaign good({1000, 1000, 1000});
  good.campaign.profile.steps.push_back({.id = "t", .case_name = "fake"});
  MetricGroup more = good.group;
  more.step = &good.campaign.profile.steps[1];
  good.group.step = &good.campaign.profile.steps[0];
  const json out = captured({{&good.campaign, {good.group, more, more}}});
  REQUIRE(out["criteria"].size() == 4);
  CHECK(out["criteria"][3]["id"] == "t.captured");
  CHECK(out["criteria"][3]["min"] == 970);
}

TEST_CASE("campaigns that are not alike, or not finished, are refused") {
  const GoodCampaign good({1});
  GoodCampaign other({1});
  other.campaign.profile.steps[0].case_name = "gemm";
  GoodCampaign running({1}, Better::higher, "");
  CHECK_THROWS_WITH_AS(captured({good.known(), other.known()}), doctest::Contains("other steps"),
                       UsageError);
  CHECK_THROWS_WITH_AS(captured({running.known()}), doctest::Contains("not finished"), UsageError);
  CHECK_THROWS_AS(captured({}), UsageError);
}

TEST_CASE("what differs between two profiles") {
  const std::string a = R"({"steps": [{"id": "s"}], "criteria": [{"id": "c", "min": 3},
                            {"id": "gone"}]})";
  const std::string b = R"({"steps": [{"id": "s"}], "criteria": [{"id": "c", "min": 4, "max": 9},
                            {"id": "new"}]})";
  CHECK(profile_differences(a, a).empty());
  CHECK(profile_differences(a, b) ==
        std::vector<std::string>{"~ criteria[c].max: absent → 9", "~ criteria[c].min: 3 → 4",
                                 "- criteria[gone]", "+ criteria[new]"});
}

TEST_CASE("a limit that already has three digits stays as it is, on both sides") {
  const auto limit = [](const std::vector<double>& medians, Better better) {
    const GoodCampaign good(medians, better);
    const json c = captured({good.known()})["criteria"][0];
    return c[better == Better::higher ? "min" : "max"].get<double>();
  };
  CHECK(limit({200, 200, 200}, Better::higher) == 194);
  CHECK(limit({200, 200, 200}, Better::lower) == 206);
  CHECK(limit({2, 2, 2}, Better::lower) == 2.06);
  CHECK(limit({1000, 1000, 1000}, Better::lower) == 1030);
  // One digit more: 206.03 goes up, 194.97 goes down.
  CHECK(limit({200.03, 200.03, 200.03}, Better::lower) == 207);
  CHECK(limit({200.99, 200.99, 200.99}, Better::higher) == 194);
  CHECK(limit({0, 0, 0}, Better::lower) == 0);
  CHECK(limit({0, 0, 0}, Better::higher) == 0);
  CHECK(limit({-100, -100, -100}, Better::lower) == -97);
}

TEST_CASE("only figures of the step, the metric and the point that the criterion names count") {
  GoodCampaign good({1000, 1000, 1000});
  good.campaign.profile.steps.push_back({.id = "t", .case_name = "fake"});
  good.group.step = &good.campaign.profile.steps[0];
  good.group.params = params(1024);
  std::get<MetricRule>(good.campaign.profile.criteria[0].rule).at = {{"size", {"1K"}}};
  MetricGroup size = good.group, metric = good.group, step = good.group;
  size.params = params(4096);
  metric.metric = "other";
  step.step = &good.campaign.profile.steps[1];
  for (MetricGroup* g : {&size, &metric, &step}) {
    for (MeasuredValue& v : g->values) v.summary = summarise(std::vector<double>{5});
    const json c = captured({{&good.campaign, {*g, good.group, *g}}})["criteria"][0];
    CHECK(c["min"] == 970);
    CHECK(c["source"]["ref"]["en"].get<std::string>().ends_with("3 entities of 1 campaigns"));
  }
}
