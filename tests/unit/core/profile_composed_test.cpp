#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/profile.h"
#include "core/profile_composed.h"

using namespace cb;
using nlohmann::json;

namespace {

json named(const std::string& name, const char* en, const char* zh) {
  return {{"schema", "clusterbench.profile/1"},
          {"name", name},
          {"title", {{"en", en}, {"zh", zh}}},
          {"steps", {{{"id", name}, {"case", "fake"}}}},
          {"criteria", json::array()}};
}

Profile load(const std::string& name) {
  const std::map<std::string, json> all{{"node", named("node", "Nodes of eight", "8 卡节点")},
                                        {"net", named("net", "NDR", "NDR 网络")},
                                        {"a+b", named("a+b", "one file", "一个文件")}};
  return load_profile(name, [&](const std::string& asked) -> std::optional<std::string> {
    const auto found = all.find(asked);
    return found == all.end() ? std::nullopt : std::optional(found->second.dump());
  });
}

}  // namespace

TEST_CASE("names joined by + are a profile with these bases") {
  const Profile p = load("node+net");
  CHECK(p.name == "node+net");
  CHECK(p.title.en == "Nodes of eight + NDR");
  CHECK(p.title.zh == "8 卡节点 + NDR 网络");
  REQUIRE(p.steps.size() == 2);
  CHECK(p.steps[0].id == "node");
  CHECK(p.steps[1].id == "net");
}

TEST_CASE("a profile that has such a name of its own is that one") {
  CHECK(load("a+b").title.en == "one file");
}

TEST_CASE("a part that is not there is refused by its name") {
  CHECK_THROWS_WITH_AS(load("node+nett"),
                       doctest::Contains("there is no profile nett, named as base of node+nett"),
                       UsageError);
}

TEST_CASE("a + at an end or twice joins nothing") {
  for (const char* name : {"node", "node+", "+node", "node++net", "+", ""})
    CHECK_MESSAGE(composed_parts(name).empty(), name);
  CHECK(composed_parts("a+b+c") == std::vector<std::string>{"a", "b", "c"});
}
