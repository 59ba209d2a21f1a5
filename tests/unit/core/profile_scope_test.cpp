// The key "scope" of a step.
#include "core/profile_scope.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace cb;

namespace {

std::string scope_profile(const std::string& keys) {
  return fmt::format(
      R"({{"schema": "clusterbench.profile/1", "name": "p", "criteria": [],
           "steps": [{{"id": "a", "case": "x", {}}}]}})",
      keys);
}

Step read_scoped(const std::string& keys) {
  return load_profile("p", [&](const std::string&) { return scope_profile(keys); }).steps[0];
}

std::string scope_refused(const std::string& keys) {
  Problems problems;
  read_profile(
      "p", [&](const std::string&) { return scope_profile(keys); }, problems);
  return problems.empty() ? "" : problems.list[0].where + " " + problems.list[0].what;
}

std::string invalid(Step step) {
  Problems problems;
  validate_scope(step, problems);
  return problems.empty() ? "" : problems.list[0].where + " " + problems.list[0].what;
}

}  // namespace

TEST_CASE("every scope has a name, and groups and rails their number") {
  CHECK(read_scoped(R"("scope": "host")").scope == Scope::host);
  CHECK(read_scoped(R"("scope": "cluster")").scope == Scope::cluster);
  const Step pairs = read_scoped(R"("scope": "pairs")");
  CHECK(pairs.scope == Scope::pairs);
  CHECK(pairs.needs == Requirements{{"hosts", 2}});
  const Step groups = read_scoped(R"("scope": "groups", "group_size": 4, "needs": {"gpu": 8})");
  CHECK(groups.group_size == 4);
  CHECK(groups.needs == Requirements{{"gpu", 8}, {"hosts", 4}});
  CHECK(read_scoped(R"("scope": "groups", "group_size": 4, "needs": {"hosts": 16})").needs ==
        Requirements{{"hosts", 16}});
  CHECK(read_scoped(R"("scope": "rails", "rails": 8)").rails == 8);
  for (const std::string& name : scope_names()) CHECK_FALSE(name.empty());
}

TEST_CASE("a number that is missing, wrong or of another scope is refused") {
  for (const char* keys :
       {R"("scope": "groups")", R"("scope": "groups", "group_size": 1)",
        R"("scope": "groups", "group_size": 2.5)", R"("scope": "groups", "group_size": 5000)"})
    CHECK_MESSAGE(
        scope_refused(keys).find("must be a whole number from 2 to 4096") != std::string::npos,
        keys);
  CHECK(scope_refused(R"("scope": "rails")").find("from 1 to 4096") != std::string::npos);
  CHECK(scope_refused(R"("scope": "pairs", "group_size": 2)") ==
        "steps[a].group_size goes with the scope \"groups\" only");
  CHECK(scope_refused(R"("rails": 2)") == "steps[a].rails goes with the scope \"rails\" only");
  CHECK(scope_refused(R"("scope": "pair")").find("pairs") !=
        std::string::npos);  // the nearest name
}

TEST_CASE("only a step on rails names a rail, and it has to") {
  Step step{.id = "a", .case_name = "x", .scope = Scope::rails, .rails = 2};
  CHECK(invalid(step).starts_with("steps[a].scope is rails, and no value"));
  step.env = {{"X", "{nic}"}};
  CHECK(invalid(step).empty());
  step.scope = Scope::cluster;
  CHECK(invalid(step).starts_with("steps[a].env.X names a rail"));
  step.env.clear();
  step.params = {{"rails", {"{rdma}"}}};
  CHECK(invalid(step).starts_with("steps[a].params.rails names a rail"));
}
