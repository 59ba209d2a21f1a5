#include <doctest/doctest.h>

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/profile.h"

using namespace cb;
using nlohmann::json;

namespace {

const json kSource = {{"kind", "practice"}, {"ref", "r"}, {"date", "2026"}};

json part(const std::string& name, const std::string& step, double min) {
  return {{"schema", "clusterbench.profile/1"},
          {"name", name},
          {"title", {{"en", name}, {"zh", name}}},
          {"steps", {{{"id", step}, {"case", "fake"}}, {{"id", "info"}, {"case", "info"}}}},
          {"criteria",
           {{{"id", step + ".rate"},
             {"step", step},
             {"domain", "host"},
             {"metric", "m"},
             {"min", min},
             {"why", "w"},
             {"source", kSource}},
            {{"id", "shared"},
             {"step", "info"},
             {"domain", "host"},
             {"metric", "m"},
             {"min", min},
             {"why", "w"},
             {"source", kSource}}}}};
}

Profile load_mine(const json& mine) {
  const std::map<std::string, json> all{{"product", part("product", "gemm", 1)},
                                        {"network", part("network", "write", 2)},
                                        {"mine", mine}};
  return load_profile("mine", [&](const std::string& name) -> std::optional<std::string> {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt : std::optional(found->second.dump());
  });
}

json combined(json bases) {
  return {{"schema", "clusterbench.profile/1"},
          {"name", "mine"},
          {"base", std::move(bases)},
          {"title", {{"en", "both"}, {"zh", "两者"}}}};
}

}  // namespace

TEST_CASE("several bases are merged one after the other, the later one over the earlier one") {
  const Profile p = load_mine(combined({"product", "network"}));
  CHECK(p.title.zh == "两者");
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[0].id == "gemm");
  CHECK(p.steps[1].id == "info");
  CHECK(p.steps[2].id == "write");
  REQUIRE(p.criteria.size() == 3);
  CHECK(std::get<MetricRule>(p.criteria[0].rule).min == 1);
  CHECK(p.criteria[1].id == "shared");
  CHECK(std::get<MetricRule>(p.criteria[1].rule).min == 2);
  CHECK(std::get<MetricRule>(load_mine(combined({"network", "product"})).criteria[1].rule).min ==
        1);
}

TEST_CASE("a list of bases without a name, or with something else, is refused") {
  CHECK_THROWS_AS(load_mine(combined(json::array())), UsageError);
  CHECK_THROWS_AS(load_mine(combined({"product", 7})), UsageError);
  CHECK_THROWS_AS(load_mine(combined({"product", "absent"})), UsageError);
  CHECK_THROWS_AS(load_mine(combined({"product", "mine"})), UsageError);
}

TEST_CASE("shares of a fleet are below and above one") {
  const auto with = [](const char* key, double share) {
    json mine = combined("product");
    mine["criteria"] = {{{"id", "shared"}, {"min", nullptr}, {key, share}}};
    return mine;
  };
  CHECK(std::get<MetricRule>(load_mine(with("min_of_fleet", 0.9)).criteria[1].rule).min_of_fleet ==
        0.9);
  CHECK(std::get<MetricRule>(load_mine(with("max_of_fleet", 1.2)).criteria[1].rule).max_of_fleet ==
        1.2);
  for (const double share : {0.0, 1.0, -1.0})
    CHECK_THROWS_AS(load_mine(with("min_of_fleet", share)), UsageError);
  for (const double share : {1.0, 0.5})
    CHECK_THROWS_AS(load_mine(with("max_of_fleet", share)), UsageError);
}
