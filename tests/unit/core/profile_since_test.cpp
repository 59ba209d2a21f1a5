// Criteria on the growth of a running total: what the earlier step must be.
#include "core/profile.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace cb;

namespace {

const Catalogue kCounters{
    {.name = "health", .metrics = {{"errors", "count", Better::lower, "running total"}}},
    {.name = "gemm", .metrics = {{"errors", "count", Better::lower, "not the same"}}}};

nlohmann::json since_step(const char* id, const char* name) { return {{"id", id}, {"case", name}}; }

// The problems of a profile whose criterion on step `last` counts since `since`.
std::string since_problems(const std::string& since, const nlohmann::json& more = {}) {
  nlohmann::json c = {
      {"id", "c"},        {"step", "last"},
      {"domain", "host"}, {"metric", "errors"},
      {"max", 80},        {"since", since},
      {"why", "w"},       {"source", {{"kind", "practice"}, {"ref", "r"}, {"date", "2026-11"}}}};
  if (!more.is_null()) c.update(more);
  const nlohmann::json profile = {{"schema", "clusterbench.profile/1"},
                                  {"name", "p"},
                                  {"steps",
                                   {since_step("first", "health"), since_step("other", "gemm"),
                                    since_step("last", "health"), since_step("later", "health")}},
                                  {"criteria", {c}}};
  Problems problems;
  const Profile read = read_profile(
      "p", [&](const std::string&) { return std::optional(profile.dump()); }, problems);
  Problems found = validate_profile(read, kCounters);
  std::string out;
  for (const Problems* list : {&problems, &found}) {
    for (const Problem& p : list->list) {
      if (p.where.find("since") != std::string::npos) out += p.what + "\n";
    }
  }
  return out;
}

}  // namespace

TEST_CASE("since names an earlier step of the same case") {
  CHECK(since_problems("first").empty());
  CHECK(since_problems("nowhere") == "nowhere is no step of the profile\n");
  CHECK(since_problems("later") == "later does not run before last\n");
  CHECK(since_problems("last") == "last does not run before last\n");
  CHECK(since_problems("other") == "other runs gemm, and last runs health\n");
}

TEST_CASE("a growth has no fleet") {
  CHECK(since_problems("first", {{"max_of_fleet", 2}}) ==
        "goes with min and max only: a growth has no ceiling and no fleet\n");
}
