// The jobs of a campaign, in their order and under their names, and what each is told.
#include "campaign/plan.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

namespace {

Profile planned_profile() {
  Profile out;
  out.steps = {{.id = "info", .case_name = "info"}, {.id = "all", .case_name = "mpi"}};
  out.steps[1].scope = Scope::cluster;
  return out;
}

using Arguments = std::vector<std::string>;

}  // namespace

TEST_CASE("a job for each host of each step, one for a step across all") {
  const auto names = [](const std::vector<std::string>& hosts) {
    Arguments out;
    for (const JobKey& k : plan_jobs(planned_profile(), hosts))
      out.push_back(std::to_string(k.step) + " " + k.host + " " + k.name);
    return out;
  };
  CHECK(names({"a", "b"}) == Arguments{"0 a 001-info@a", "0 b 001-info@b", "1  002-all"});
  CHECK(names({"a"}) == Arguments{"0 a 001-info", "1  002-all"});
}

TEST_CASE("with spares every job names its host, and the longest time counts rounds and retries") {
  CHECK(plan_jobs(planned_profile(), {"a"}, true)[0].name == "001-info@a");
  Profile p = planned_profile();
  p.steps[0].deadline_seconds = 10;
  p.steps[0].retries = 1;
  p.steps[1].deadline_seconds = 100;
  // Ten seconds until a late job is stopped, five until it is killed.
  CHECK(longest_seconds(p, 5, 2) == 3 * (10 + 15) * 2 + 115);
  // A cycle but the last one takes its time, whatever its steps use.
  p.soak = Soak{{"all"}, 3000, 1000};
  CHECK(longest_seconds(p, 5, 2) == 150 + 1000 + 1000 + 115);
}

TEST_CASE("jobs on pairs, groups and rails, and what they cost") {
  Profile p = planned_profile();
  p.steps[1].scope = Scope::pairs;
  p.steps[1].deadline_seconds = 10;
  Arguments names;
  for (const JobKey& k : plan_jobs(p, {"a", "b", "c"})) names.push_back(k.name + " " + k.label());
  CHECK(names.size() == 6);
  CHECK(std::ranges::count(names, "002-all@pair-001-003 pair-001-003") == 1);
  // 8 hosts: 28 pairs in 7 turns of 4 side by side; with a fan-out of 3 each turn takes two starts.
  const StepCost cost = step_cost(p.steps[1], 8, 32);
  CHECK(cost.jobs == 28);
  CHECK(cost.turns == 7);
  CHECK(cost.side_by_side == 4);
  CHECK(cost.longest_seconds == 7 * 25);
  CHECK(step_cost(p.steps[1], 8, 3).longest_seconds == 14 * 25);
  p.steps[1].scope = Scope::rails;
  p.steps[1].rails = 2;
  CHECK(plan_jobs(p, {"a", "b", "c"})[4].name == "002-all@rail-1");
  CHECK(step_cost(p.steps[1], 3, 32).longest_seconds == 2 * 25);
  // A spare that has stepped in makes no place more.
  p.steps[1].scope = Scope::groups;
  p.steps[1].group_size = 2;
  CHECK(plan_jobs(p, {"a", "b", "s"}, true, 2).size() == 4);
}

TEST_CASE("more pairs than can be run are refused with another way") {
  Profile p = planned_profile();
  p.steps[1].scope = Scope::pairs;
  const std::vector<std::string> fits(200, "a"), beyond(201, "a");
  CHECK(plan_jobs(p, fits).size() == 200 + 19900);
  CHECK_THROWS_WITH_AS(plan_jobs(p, beyond), doctest::Contains("tournament"), UsageError);
}

TEST_CASE("the id of a step becomes a file's name") {
  Profile p = planned_profile();
  for (const char* id : {"../x", "a/b", "", "."}) {
    p.steps[0].id = id;
    CHECK_THROWS_AS_MESSAGE(plan_jobs(p, {"a"}), UsageError, id);
  }
}

TEST_CASE("what a step's measuring command is told") {
  CaseInfo info{.name = "io"};
  info.params = {
      {"verify", ParamType::flag}, {"direct", ParamType::flag}, {"size", ParamType::size}};
  info.needs.directory = true;
  Step step{.id = "s", .case_name = "io"};
  step.params = {{"verify", {"true"}}, {"direct", {"false"}}, {"size", {"1K", "2K"}}};
  step.deadline_seconds = 90;
  const JobProgram program{.binary = "/cb", .scratch = "/c/scratch", .record = "/c/r.json"};
  CHECK(step_arguments(step, info, program) ==
        Arguments{"/cb", "io", "--no-direct", "--size", "1K,2K", "--verify", "--dir", "/c/scratch",
                  "--deadline", "90s", "--no-color", "--json", "/c/r.json"});
  step.params = {{"dir", {"/x"}}};
  CHECK(step_arguments(step, info, program) == Arguments{"/cb", "io", "--dir", "/x", "--deadline",
                                                         "90s", "--no-color", "--json",
                                                         "/c/r.json"});
  step.params = {{"file", {"/x"}}};
  CHECK(step_arguments(step, info, program)[3] == "/x");
  CHECK(step_arguments(step, info, program)[4] == "--deadline");
  info.needs.directory = false;
  step.params.clear();
  JobProgram redacting = program;
  redacting.redact = true;
  CHECK(step_arguments(step, info, redacting) == Arguments{"/cb", "io", "--deadline", "90s",
                                                           "--redact", "--no-color", "--json",
                                                           "/c/r.json"});
}

TEST_CASE("a job is another one by its command, its environment, the tool and the profile") {
  const Command command{.argv = {"x"}, .environment = {{"A", "1"}}};
  const ToolInfo tool{.version = "1", .commit = "c"};
  const std::string same = fingerprint(command, tool, "p");
  CHECK(fingerprint(command, tool, "p") == same);
  CHECK(fingerprint(command, tool, "q") != same);
  CHECK(fingerprint({.argv = {"y"}, .environment = {{"A", "1"}}}, tool, "p") != same);
  CHECK(fingerprint({.argv = {"x"}, .environment = {{"A", "2"}}}, tool, "p") != same);
  CHECK(fingerprint(command, {.version = "2", .commit = "c"}, "p") != same);
  CHECK(fingerprint(command, {.version = "1", .commit = "d"}, "p") != same);
  CHECK(fingerprint(command, {.version = "1", .commit = "c", .dirty = true}, "p") != same);
}
