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
             {"min", 1.0},
             {"why", "w"},
             {"source", kSource}}}}};
}

Profile load_with(const json& mine, const json& network, const json& faster = {}) {
  const std::map<std::string, json> all{{"product", part("product", "gemm", 1)},
                                        {"network", network},
                                        {"faster", faster},
                                        {"mine", mine}};
  return load_profile("mine", [&](const std::string& name) -> std::optional<std::string> {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt : std::optional(found->second.dump());
  });
}

Profile load_mine(const json& mine) { return load_with(mine, part("network", "write", 2)); }

std::string refusal(const json& mine, const json& network, const json& faster = {}) {
  try {
    (void)load_with(mine, network, faster);
  } catch (const UsageError& e) {
    std::string out;
    for (const Problem& p : e.problems().list) out += p.where + " " + p.what + "\n";
    return out;
  }
  return "accepted";
}

json combined(json bases) {
  return {{"schema", "clusterbench.profile/1"},
          {"name", "mine"},
          {"base", std::move(bases)},
          {"title", {{"en", "both"}, {"zh", "两者"}}}};
}

}  // namespace

TEST_CASE("several bases keep all that each runs and requires") {
  const Profile p = load_mine(combined({"product", "network"}));
  CHECK(p.title.zh == "两者");
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[0].id == "gemm");
  CHECK(p.steps[1].id == "info");  // the same in both
  CHECK(p.steps[2].id == "write");
  REQUIRE(p.criteria.size() == 3);
  CHECK(std::get<MetricRule>(p.criteria[0].rule).min == 1);
  CHECK(p.criteria[1].id == "shared");
  CHECK(std::get<MetricRule>(p.criteria[2].rule).min == 2);
}

TEST_CASE("two bases that say different things under one id are refused, both named") {
  const auto clash = [](const char* list, const json& change) {
    json other = part("network", "write", 2);
    other[list].back().update(change);
    return refusal(combined({"product", "network"}), other);
  };
  CHECK(clash("steps", {{"case", "fake"}}) ==
        "steps[info] stands in product and in network and differs in case: keep both with "
        "{\"profile\": NAME, \"as\": PREFIX} as a base, or take one base only\n");
  CHECK(clash("steps", {{"params", {{"rw", "write"}, {"size", "32G"}}}})
            .find("steps[info] stands in product and in network and differs in params.rw, "
                  "params.size:") == 0);
  for (const json& change : {json{{"scope", "cluster"}}, json{{"needs", {{"hosts", 32}}}},
                             json{{"env", {{"X", "1"}}}}, json{{"ranks_per_host", 8}}})
    CHECK(clash("steps", change).find("steps[info] stands in product and in network") == 0);
  CHECK(clash("criteria", {{"min", 9}})
            .find("criteria[shared] stands in product and in network and differs in min:") == 0);
  for (const json& harmless : {json{{"deadline", "9m"}}, json{{"informative", true}, {"why", "w"}}})
    CHECK(clash("steps", harmless) == "accepted");
}

TEST_CASE("a base under a prefix keeps its own beside that of the other") {
  json other = part("network", "gemm", 2);
  other["steps"][0]["case"] = "io";
  CHECK(refusal(combined({"product", "network"}), other) != "accepted");
  const json bases = json::array({"product", {{"profile", "network"}, {"as", "net"}}});
  const Profile p = load_with(combined(bases), other);
  REQUIRE(p.steps.size() == 4);
  CHECK(p.steps[2].id == "net.gemm");
  CHECK(p.steps[2].case_name == "io");
  REQUIRE(p.criteria.size() == 4);
  CHECK(p.criteria[2].id == "net.gemm.rate");
  CHECK(p.criteria[2].step == "net.gemm");
  for (const json& bad : {json{{"profile", "network"}}, json{{"profile", "network"}, {"as", ""}},
                          json{{"profile", "network"}, {"as", "a b"}},
                          json{{"profile", "network"}, {"as", "n"}, {"by", 1}}})
    CHECK(refusal(combined(json::array({"product", bad})), other).find("base") == 0);
}

json faster_product() {
  json faster = combined("product");
  faster["name"] = "faster";
  faster["criteria"] = {{{"id", "gemm.rate"}, {"min", 7}, {"source", kSource}},
                        {{"id", "shared"}, {"remove", true}}};
  return faster;
}

TEST_CASE("of a common ancestor the base that changed something holds, in both orders") {
  const json other = combined("product");  // changes nothing
  for (const json& bases : {json{"network", "faster"}, json{"faster", "network"}}) {
    const Profile p = load_with(combined(bases), other, faster_product());
    REQUIRE(p.criteria.size() == 1);
    CHECK(std::get<MetricRule>(p.criteria[0].rule).min == 7);
  }
}

TEST_CASE(
    "a profile beside one that was derived from it is refused: a limit could be gone unseen") {
  for (const json& bases : {json{"product", "faster"}, json{"faster", "product"}}) {
    CHECK(
        refusal(combined(bases), part("network", "write", 2), faster_product()) ==
        "base names product beside faster, which changes it: name faster alone, or keep both with "
        "{\"profile\": NAME, \"as\": PREFIX}\n");
  }
  const json apart = json::array({json{{"profile", "product"}, {"as", "p"}}, "faster"});
  CHECK(refusal(combined(apart), part("network", "write", 2), faster_product()) == "accepted");
}

TEST_CASE("a list of one of several bases that is none is refused, and so is an entry without id") {
  for (const json& list : {json("x"), json::object(), json()}) {
    json bad = part("network", "write", 2);
    bad["criteria"] = list;
    for (const json& bases : {json{"product", "network"}, json{"network", "product"}})
      CHECK(refusal(combined(bases), bad).find("criteria of network is not a list\n") !=
            std::string::npos);
  }
  for (const json& id : {json(7), json()}) {
    json bad = part("network", "write", 2);
    bad["criteria"][1]["id"] = id;
    CHECK(refusal(combined({"product", "network"}), bad)
              .find("criteria[1] of network has no id that is a text\n") != std::string::npos);
  }
}

TEST_CASE("a changed limit says where it comes from; the same limit need not") {
  const auto changed = [](json change) {
    json mine = combined("product");
    change["id"] = "shared";
    mine["criteria"] = json::array({std::move(change)});
    return refusal(mine, part("network", "write", 2));
  };
  CHECK(changed({{"min", 5}}) ==
        "criteria[shared].min is 1.0 in product and 5 here, without a \"source\" of its own: that "
        "of the old limit says nothing of the new one\n");
  CHECK(changed({{"min", nullptr}, {"min_of_ceiling", 0.5}}).find("criteria[shared].min is") == 0);
  CHECK(changed({{"statistic", "max"}}).find("criteria[shared].statistic is") == 0);
  CHECK(changed({{"step", "write"}}).find("criteria[shared].step is") == 0);
  CHECK(changed({{"min", 5}, {"source", kSource}}) == "accepted");
  CHECK(changed({{"min", 5}, {"source", {{"date", "2027"}}}}) != "accepted");
  CHECK(changed({{"min", 1.0}}) == "accepted");
  CHECK(changed({{"severity", "warn"}}) == "accepted");
}

TEST_CASE("an entry that changes nothing of the base is the one that is nearly called so") {
  const auto changed = [](const char* list, json change) {
    json mine = combined("product");
    mine[list] = json::array({std::move(change)});
    return refusal(mine, part("network", "write", 2));
  };
  CHECK(changed("criteria", {{"id", "gemm.rat"}, {"min", 5}, {"source", kSource}}) ==
        "criteria[gemm.rat] is in no base, did you mean gemm.rate?\n");
  CHECK(changed("steps", {{"id", "gem"}, {"deadline", "1m"}}) ==
        "steps[gem] is in no base, did you mean gemm?\n");
  // Nothing is nearly called so, or it is whole: then it is a new one.
  CHECK(changed("criteria", {{"id", "else"}, {"min", 5}}).find("criteria[else].step") == 0);
  CHECK(changed("steps", {{"id", "gem"}, {"case", "fake"}}) == "accepted");
  CHECK(changed("criteria", {{"id", "share"}, {"remove", true}}).find("did you mean") ==
        std::string::npos);
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
    mine["criteria"] = {{{"id", "shared"}, {"min", nullptr}, {key, share}, {"source", kSource}}};
    return mine;
  };
  CHECK(std::get<MetricRule>(load_mine(with("min_of_fleet", 0.9)).criteria[1].rule).min_of_fleet ==
        0.9);
  CHECK(std::get<MetricRule>(load_mine(with("max_of_fleet", 1.2)).criteria[1].rule).max_of_fleet ==
        1.2);
  for (const double share : {0.0, 0.009, 1.0, -1.0})
    CHECK_THROWS_AS(load_mine(with("min_of_fleet", share)), UsageError);
  for (const double share : {1.0, 0.5, 101.0})
    CHECK_THROWS_AS(load_mine(with("max_of_fleet", share)), UsageError);
}
