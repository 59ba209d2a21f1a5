#include "core/profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>

#include <nlohmann/json.hpp>

#include "core/sha256.h"

using namespace cb;
using nlohmann::json;

namespace {

json step(const std::string& id) { return {{"id", id}, {"case", "gemm"}}; }

json criterion(const std::string& id, const std::string& step = "s") {
  return {{"id", id},
          {"step", step},
          {"domain", "compute"},
          {"metric", "flops_per_second"},
          {"min", 1},
          {"why", "w"},
          {"source", {{"kind", "practice"}, {"ref", "r"}, {"date", "2026-11"}}}};
}

const json kOwnSource = {{"kind", "contract"}, {"ref", "annex 2"}, {"date", "2026-11"}};

json base_profile() {
  return {{"schema", "clusterbench.profile/1"},
          {"name", "base"},
          {"steps", json::array({step("s"), step("t")})},
          {"criteria", json::array({criterion("c"), criterion("d", "t")})}};
}

json derived(const json& changes) {
  json out = {{"schema", "clusterbench.profile/1"}, {"name", "mine"}, {"base", "base"}};
  out.update(changes);
  return out;
}

Profile load(const std::map<std::string, json>& files, const std::string& name = "mine") {
  return load_profile(name, [&](const std::string& wanted) -> std::optional<std::string> {
    const auto found = files.find(wanted);
    if (found == files.end()) return std::nullopt;
    return found->second.dump();
  });
}

Profile load_derived(const json& changes) {
  return load({{"base", base_profile()}, {"mine", derived(changes)}});
}

std::string profile_refusal(const std::map<std::string, json>& files,
                            const std::string& name = "mine") {
  try {
    (void)load(files, name);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

// The problems of the base profile after a change.
std::string problems(const std::function<void(json&)>& change) {
  json j = base_profile();
  change(j);
  try {
    (void)load({{"mine", j}});
  } catch (const UsageError& e) {
    std::string out;
    for (const Problem& p : e.problems().list) out += p.where + " " + p.what + "\n";
    return out;
  }
  return "accepted";
}

const Catalogue kCatalogue{
    {.name = "gemm",
     .device = "cpu",
     .params = {{"device", ParamType::choice, "cpu", "", {"cpu", "gpu"}},
                {"size", ParamType::size, "4K", "", {}, true, 1},
                {"dtype", ParamType::choice, "fp64", "", {"fp64", "fp32"}, true}},
     .metrics = {{"flops_per_second", "flops_per_second", Better::higher, ""},
                 {"latency_seconds", "seconds", Better::lower, ""},
                 {"share_of_peak", "share", Better::higher, ""}},
     .checks = {"product"}},
    {.name = "gemm",
     .device = "gpu",
     .params = {{"device", ParamType::choice, "gpu", "", {"gpu"}}}},
    {.name = "info"}};

std::string validation(const std::function<void(json&)>& change) {
  json j = base_profile();
  change(j);
  std::string out;
  for (const Problem& p : validate_profile(load({{"mine", j}}), kCatalogue).list)
    out += p.where + " " + p.what + "\n";
  return out;
}

}  // namespace

TEST_CASE("a profile is read with every field") {
  json j = base_profile();
  j["title"] = {{"en", "Host"}, {"zh", "主机"}};
  j["steps"][0].update({{"params", {{"size", {"4K", 8192}}, {"direct", true}}},
                        {"scope", "cluster"},
                        {"ranks_per_host", "slots"},
                        {"env", {{"OMP_NUM_THREADS", 2}}},
                        {"deadline", "2m"},
                        {"needs", {{"gpu", 8}, {"hosts", 2}}}});
  j["criteria"][0].update({{"at", {{"size", "4K"}}},
                           {"statistic", "p05"},
                           {"max", 2e9},
                           {"severity", "warn"},
                           {"title", {{"en", "Speed"}, {"zh", "速度"}}},
                           {"needs", {{"gpu", 1}}}});
  j["criteria"].push_back(criterion("k"));
  j["criteria"][2].erase("metric");
  j["criteria"][2].erase("min");
  j["criteria"][2]["check"] = "product";
  j["criteria"].push_back(j["criteria"][2]);
  j["criteria"][3].erase("check");
  j["criteria"][3].update({{"id", "u"}, {"uniform", {"cpu.model", "gpu.count"}}});
  j["checklist"] = {{{"id", "x"}, {"domain", "network"}, {"text", {{"en", "a"}, {"zh", "b"}}}}};
  const Profile p = load({{"mine", j}});
  CHECK(p.title.zh == "主机");
  CHECK(p.steps[0].params.at("size") == std::vector<std::string>{"4K", "8192"});
  CHECK(p.steps[0].params.at("direct") == std::vector<std::string>{"true"});
  CHECK(p.steps[0].scope == Scope::cluster);
  CHECK(p.steps[0].ranks_per_host == 0);
  CHECK(p.steps[0].env.at("OMP_NUM_THREADS") == "2");
  CHECK(p.steps[0].deadline_seconds == 120);
  CHECK(p.steps[0].needs == Requirements{{"gpu", 8}, {"hosts", 2}});
  CHECK(p.steps[1].scope == Scope::host);
  CHECK(p.steps[1].ranks_per_host == 1);
  CHECK(p.steps[1].deadline_seconds == 600);
  const auto& rule = std::get<MetricRule>(p.criteria[0].rule);
  CHECK(rule.statistic == "p05");
  CHECK(rule.min == 1.0);
  CHECK(rule.max == 2e9);
  CHECK_FALSE(rule.min_of_ceiling.has_value());
  CHECK(rule.at.at("size") == std::vector<std::string>{"4K"});
  CHECK(p.criteria[0].severity == Severity::warn);
  CHECK(p.criteria[0].source.date == "2026-11");
  CHECK(p.criteria[1].title.en == "d");  // without a title the id
  CHECK(std::get<CheckRule>(p.criteria[2].rule).check == "product");
  CHECK(std::get<UniformRule>(p.criteria[3].rule).attributes.size() == 2);
  CHECK(p.checklist[0].text.zh == "b");
  CHECK(p.sha256 == sha256_hex(p.resolved));
  const Profile again = parse_resolved_profile(p.resolved, "campaign");
  CHECK(again.resolved == p.resolved);
}

TEST_CASE("a derived profile states only what differs") {
  const Profile p =
      load_derived({{"steps", {{{"id", "s"}, {"deadline", "1h"}}, step("new")}},
                    {"criteria", {{{"id", "c"}, {"min", 7}, {"source", kOwnSource}}}}});
  CHECK(p.name == "mine");
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[0].id == "s");
  CHECK(p.steps[0].case_name == "gemm");
  CHECK(p.steps[0].deadline_seconds == 3600);
  CHECK(p.steps[2].id == "new");
  CHECK(std::get<MetricRule>(p.criteria[0].rule).min == 7.0);
  CHECK(p.criteria[1].id == "d");
  CHECK(p.resolved.find("\"base\":") == std::string::npos);
}

TEST_CASE("remove takes out, null takes away, lists of values are replaced") {
  CHECK(load_derived({{"criteria", {{{"id", "c"}, {"remove", true}}}}}).criteria.size() == 1);
  const Profile p = load_derived(
      {{"criteria",
        {{{"id", "c"}, {"min", nullptr}, {"min_of_ceiling", 0.9}, {"source", kOwnSource}}}}});
  CHECK_FALSE(std::get<MetricRule>(p.criteria[0].rule).min.has_value());
  CHECK(std::get<MetricRule>(p.criteria[0].rule).min_of_ceiling == 0.9);
  json base = base_profile();
  base["steps"][0]["params"] = {{"size", {"4K", "8K"}}, {"dtype", "fp64"}};
  const json mine = derived({{"steps", {{{"id", "s"}, {"params", {{"size", {"1K"}}}}}}}});
  const Profile q = load({{"base", base}, {"mine", mine}});
  CHECK(q.steps[0].params.at("size") == std::vector<std::string>{"1K"});
  CHECK(q.steps[0].params.at("dtype") == std::vector<std::string>{"fp64"});
}

TEST_CASE("inheritance that goes wrong is refused") {
  CHECK(profile_refusal({}) == "mine: 1 problem\n  there is no profile mine");
  CHECK(profile_refusal({{"mine", derived(json::object())}}) ==
        "base: 1 problem\n  base  there is no profile base, named as base of mine");
  CHECK(profile_refusal({{"mine", derived(json::object())}, {"base", derived({{"base", "mine"}})}})
            .find("leads back to itself: mine → base → mine") != std::string::npos);
  CHECK(profile_refusal({{"mine", derived({{"base", "mine"}})}}).find("mine → mine") !=
        std::string::npos);
  CHECK(profile_refusal({{"mine", derived({{"base", 7}})}})
            .find("is neither the name of a profile nor") != std::string::npos);
  CHECK(profile_refusal({{"base", base_profile()},
                         {"mine", derived({{"steps", {{{"id", "z"}, {"remove", true}}}}})}})
            .find("removes \"z\", which its base does not have") != std::string::npos);
  CHECK(profile_refusal(
            {{"base", base_profile()}, {"mine", derived({{"steps", {step("n"), step("n")}}})}})
            .find("\"n\" stands twice") != std::string::npos);
  CHECK(profile_refusal({{"mine", {{"schema", "clusterbench.profile/2"}}}}).find("newer") !=
        std::string::npos);
  CHECK(profile_refusal({{"mine", {{"schema", "clusterbench.result/1"}}}}).find("expected") !=
        std::string::npos);
  CHECK(profile_refusal({{"mine", json::array()}}).find("is absent") != std::string::npos);
}

TEST_CASE("unknown keys and values name the nearest valid one") {
  CHECK(problems([](json& j) { j["crieria"] = 1; }) ==
        "crieria crieria is not known, did you mean criteria? (schema name title steps criteria "
        "checklist soak delivery)\n");
  CHECK(problems([](json& j) { j["steps"][0]["deadlin"] = 1; }).find("did you mean deadline?") !=
        std::string::npos);
  CHECK(
      problems([](json& j) { j["steps"][0]["scope"] = "hosts"; }) ==
      "steps[s].scope hosts is not known, did you mean host? (host cluster pairs groups rails)\n");
  CHECK(problems([](json& j) {
          j["criteria"][0]["domain"] = "netwrok";
        }).find("did you mean network?") != std::string::npos);
  CHECK(problems([](json& j) {
          j["criteria"][0]["statistic"] = "p50";
        }).find("criteria[c].statistic p50 is not known, did you mean p05?") != std::string::npos);
  CHECK(problems([](json& j) {
          j["criteria"][0]["severity"] = "warning";
        }).find("did you mean warn?") != std::string::npos);
  CHECK(problems([](json& j) {
          j["criteria"][0]["source"]["kind"] = "vendr";
        }).find("criteria[c].source.kind vendr is not known, did you mean vendor?") !=
        std::string::npos);
  CHECK(problems([](json& j) {
          j["criteria"][0]["source"]["page"] = 3;
        }).find("criteria[c].source.page page is not known") != std::string::npos);
}

TEST_CASE("what is missing or of a wrong kind is named") {
  CHECK(problems([](json& j) { j.erase("name"); }) == "name is missing\n");
  CHECK(problems([](json& j) { j["name"] = ""; }) == "name is empty\n");
  CHECK(problems([](json& j) { j["name"] = 7; }) == "name is not a text\n");
  CHECK(problems([](json& j) { j["steps"] = 7; }) == "steps is not a list\n");
  CHECK(problems([](json& j) { j["steps"][1] = 7; }) == "steps[1] is not an object\n");
  CHECK(problems([](json& j) { j["steps"][1]["id"] = "s"; }) == "steps[s].id stands twice\n");
  CHECK(problems([](json& j) { j["steps"][0].erase("case"); }) == "steps[s].case is missing\n");
  CHECK(problems([](json& j) { j["criteria"][0].erase("source"); }) ==
        "criteria[c].source is missing: every threshold says where it comes from\n");
  CHECK(problems([](json& j) { j["criteria"][0].erase("why"); }) == "criteria[c].why is missing\n");
  CHECK(problems([](json& j) { j["criteria"][0].erase("min"); }) ==
        "criteria[c].metric has no limit: min, max, min_of_ceiling, min_of_fleet, max_of_fleet, "
        "max_spread_of_host or max_ratio_of_host\n");
  CHECK(problems([](json& j) {
          j["criteria"][0]["min"] = "1";
        }).find("criteria[c].min is neither a number") != std::string::npos);
  CHECK(problems([](json& j) { j["criteria"][0]["check"] = "product"; }) ==
        "criteria[c].metric exactly one of metric, check, uniform, expect (or assets) and soak is "
        "needed\n");
  CHECK(problems([](json& j) { j["title"] = {{"en", "x"}}; }) == "title.zh is missing\n");
  CHECK(problems([](json& j) {
          j["checklist"] = {{{"id", "x"}, {"domain", "host"}}};
        }) == "checklist[x].text is missing\n");
  for (const json& ranks : {json(0), json(4097), json(-1), json(1.5), json("all")})
    CHECK(problems([&](json& j) {
            j["steps"][0]["ranks_per_host"] = ranks;
          }).find("steps[s].ranks_per_host is neither") == 0);
  for (const json& deadline : {json(0), json(-1), json("5 s"), json(true), json("1e308d")})
    CHECK(problems([&](json& j) {
            j["steps"][0]["deadline"] = deadline;
          }).find("steps[s].deadline is not a duration") == 0);
  for (const json& needs : {json(0), json("many"), json(1.5), json(1000001)})
    CHECK(problems([&](json& j) {
            j["steps"][0]["needs"] = {{"gpu", needs}};
          }).find("steps[s].needs.gpu is not a whole number") == 0);
  CHECK(problems([](json& j) {
          j["steps"][0]["params"] = {{"size", json::array()}};
        }) == "steps[s].params.size is an empty list\n");
  CHECK(problems([](json& j) {
          j["steps"][0]["params"] = {{"size", nullptr}};
        }) == "steps[s].params.size is neither a number, a text nor a truth value\n");
  CHECK(problems([](json& j) {
          j["steps"][0]["env"] = {{"A", {1, 2}}};
        }) == "steps[s].env.A is not a single value\n");
}

TEST_CASE("limits that nothing can meet are refused, on both sides of the border") {
  const auto with_share = [](double share) {
    return problems([&](json& j) {
      j["criteria"][0].erase("min");
      j["criteria"][0]["min_of_ceiling"] = share;
    });
  };
  CHECK(with_share(1) == "accepted");
  CHECK(with_share(0.01) == "accepted");
  CHECK(with_share(0.009) ==
        "criteria[c].min_of_ceiling is a share of a physical ceiling: from 0.01 to 1\n");
  CHECK(with_share(1.001) ==
        "criteria[c].min_of_ceiling is a share of a physical ceiling: from 0.01 to 1\n");
  CHECK(with_share(0).find("is a share") != std::string::npos);
  const auto with_max = [](double max) {
    return problems([&](json& j) { j["criteria"][0]["max"] = max; });
  };
  CHECK(with_max(1) == "accepted");
  CHECK(with_max(0.999) == "criteria[c].min is above max: nothing can pass\n");
  CHECK(problems([](json& j) { j["criteria"][0]["min_of_ceiling"] = 0.9; }) ==
        "criteria[c].min and min_of_ceiling exclude each other\n");
  const auto with_uniform = [](const json& list) {
    return problems([&](json& j) {
      j["criteria"][0].erase("metric");
      j["criteria"][0].erase("min");
      j["criteria"][0]["uniform"] = list;
    });
  };
  CHECK(with_uniform({"cpu.model"}) == "accepted");
  CHECK(with_uniform(json::array()) == "criteria[c].uniform is an empty list\n");
  for (const char* bad : {"cpu", ".model", "cpu.", ""})
    CHECK(with_uniform({bad}) == "criteria[c].uniform is not a list of \"kind.attribute\"\n");
}

TEST_CASE("a source has a date") {
  const auto with_date = [](const std::string& date) {
    return problems([&](json& j) { j["criteria"][0]["source"]["date"] = date; });
  };
  for (const char* good : {"2026", "2026-11", "2026-11-20"}) CHECK(with_date(good) == "accepted");
  for (const char* bad : {"last year", "26", "2026-1", "2026/11", "2026-11-2x", "2026-11-20T"})
    CHECK(with_date(bad) == "criteria[c].source.date is not a date: YYYY, YYYY-MM or YYYY-MM-DD\n");
}

TEST_CASE("all problems are reported together") {
  const std::string all = problems([](json& j) {
    j["nam"] = 1;
    j["steps"][0]["scope"] = "x";
    j["criteria"][1].erase("why");
  });
  CHECK(std::count(all.begin(), all.end(), '\n') == 3);
}

TEST_CASE("names are checked against the catalogue, with the nearest") {
  CHECK(validation([](json&) {}).empty());
  CHECK(validation([](json& j) { j["steps"][1]["case"] = "gem"; }) ==
        "steps[t].case gem is not known, did you mean gemm? (gemm info)\n");
  CHECK(validation([](json& j) {
          j["steps"][1]["params"] = {{"device", "gpx"}};
        }) == "steps[t].params.device gpx is not known, did you mean gpu? (cpu gpu)\n");
  CHECK(validation([](json& j) {
          j["steps"][1].update({{"case", "info"}, {"params", {{"device", "cpu"}}}});
        }) == "steps[t].params.device is unknown: the case has no device to choose\n");
  CHECK(validation([](json& j) {
          j["steps"][1]["params"] = {{"sise", "4K"}, {"dtype", "fp61"}};
        }) ==
        "steps[t].params.dtype fp61 is not known, did you mean fp64? (fp64 fp32)\n"
        "steps[t].params.sise unknown option, did you mean --size?\n");
  CHECK(validation([](json& j) { j["criteria"][0]["metric"] = "flop_per_second"; }) ==
        "criteria[c].metric flop_per_second is not known, did you mean flops_per_second? "
        "(flops_per_second latency_seconds share_of_peak)\n");
  CHECK(validation([](json& j) { j["criteria"][0]["step"] = "ss"; }) ==
        "criteria[c].step ss is not known, did you mean s? (s t)\n"
        "steps[s] is judged by no criterion: add one, or say \"informative\": true with the reason "
        "in \"why\"\n");
  CHECK(validation([](json& j) {
          j["criteria"][0]["at"] = {{"siz", "4K"}};
        }).find("criteria[c].at.siz siz is not known, did you mean size?") == 0);
  CHECK(validation([](json& j) {
          j["criteria"][0]["at"] = {{"size", {"4K", "4Q"}}};
        }) == "criteria[c].at.size '4Q' is not a size such as 4K, 64M or 1G\n");
  CHECK(validation([](json& j) {
          j["criteria"][0].erase("metric");
          j["criteria"][0].erase("min");
          j["criteria"][0]["check"] = "produkt";
        }) == "criteria[c].check produkt is not known, did you mean product? (product)\n");
}

TEST_CASE("thresholds that make no sense for their metric are problems") {
  CHECK(validation([](json& j) {
          j["criteria"][0].update({{"metric", "share_of_peak"}, {"min", 95}});
        }) == "criteria[c].min is a share above 1 (write 95 % as 0.95)\n");
  CHECK(validation([](json& j) {
          j["criteria"][0].update({{"metric", "share_of_peak"}, {"min", 1}});
        }).empty());
  CHECK(validation([](json& j) {
          j["criteria"][0].erase("min");
          j["criteria"][0].update({{"metric", "latency_seconds"}, {"min_of_ceiling", 0.9}});
        }).find("criteria[c].min_of_ceiling latency_seconds is better when lower") == 0);
}

TEST_CASE("a step's device selects among the cases of one name") {
  Step s{.id = "s", .case_name = "gemm"};
  CHECK(case_of(s, kCatalogue)->device == "cpu");
  s.params = {{"device", {"gpu"}}};
  CHECK(case_of(s, kCatalogue)->device == "gpu");
  s.params = {{"device", {"tpu"}}};
  CHECK(case_of(s, kCatalogue) == nullptr);
}

TEST_CASE("a step that nothing judges is refused unless it says that and why it informs only") {
  const auto added = [](const json& more) {
    return validation([&](json& j) {
      j["steps"].push_back(step("extra"));
      if (!more.empty()) j["steps"].back().update(more);
    });
  };
  CHECK(added({}).find("steps[extra] is judged by no criterion") != std::string::npos);
  CHECK(added({{"informative", true}, {"why", "a map for the fabric team"}}) == "");
  CHECK(added({{"informative", false}}).find("is judged by no criterion") != std::string::npos);
}

TEST_CASE("informative needs its reason, and a reason needs informative") {
  const auto problem = [](const json& more) {
    return problems([&](json& j) { j["steps"][0].update(more); });
  };
  CHECK(problem({{"informative", true}}) == "steps[s].why is missing\n");
  CHECK(problem({{"informative", "yes"}}) == "steps[s].informative is neither true nor false\n");
  CHECK(problem({{"why", "w"}}).find("steps[s].why says why a step is informative") == 0);
  CHECK(problem({{"informative", true}, {"why", {{"en", "a"}, {"zh", "甲"}}}}) == "accepted");
}

TEST_CASE("a profile that cannot reject anything is refused") {
  CHECK(validation([](json& j) {
          j.erase("criteria");
          for (json& s : j["steps"]) s.update({{"informative", true}, {"why", "w"}});
        }) == "criteria are missing: this profile judges nothing\n");
  const auto with_severity = [](size_t warnings) {
    return validation([&](json& j) {
      for (size_t i = 0; i < warnings; ++i) j["criteria"][i]["severity"] = "warn";
    });
  };
  CHECK(with_severity(1) == "");
  CHECK(with_severity(2) ==
        "criteria have severity warn, all of them: nothing in this profile can fail\n");
}

TEST_CASE("limits and needs that switch a criterion off are named with their place") {
  CHECK(validation([](json& j) {
          j["criteria"][0]["min"] = -1e300;
        }).find("criteria[c].min is -1e+300, which nothing falls below") == 0);
  CHECK(validation([](json& j) {
          j["criteria"][0]["needs"] = {{"gpu", 1000000}};
        }).find("criteria[c].needs.gpu is 1000000, which nothing meets") == 0);
  CHECK(validation([](json& j) {
          j["steps"][0]["needs"] = {{"hosts", 1000000}};
        }).find("steps[s].needs.hosts is 1000000, which nothing meets") == 0);
}

TEST_CASE("a failed check is never a warning") {
  CHECK(problems([](json& j) {
          json& c = j["criteria"][0];
          for (const char* key : {"metric", "min"}) c.erase(key);
          c.update({{"check", "product"}, {"severity", "warn"}});
        }) == "criteria[c].severity is warn: a failed check is never a warning\n");
}
