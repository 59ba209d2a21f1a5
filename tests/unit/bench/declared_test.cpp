// A metric is stated once, in its case's CaseInfo, and every case emits what it states.
#include "bench/harness/declared.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "bench/registry.h"
#include "core/file.h"
#include "tests/unit/bench/case_runner.h"

using namespace cb;

namespace {

// All of src/bench and src/sys, where the names of readings are.
std::string sources_of_bench() {
  const char* root = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(root != nullptr, "set CLUSTERBENCH_SOURCE_DIR, as ctest does");
  std::string out;
  for (const char* room : {"src/bench", "src/sys"}) {
    const auto folder = std::filesystem::path(root) / room;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const auto kind = entry.path().extension();
      if (kind == ".cpp" || kind == ".h") out += read_file(entry.path().string());
    }
  }
  return out;
}

// How often the name stands in the sources other than in a declaration, which goes on with a unit
// and a direction.
size_t uses_of(const std::string& name, const std::string& sources) {
  const std::string quoted = '"' + name + '"';
  static const std::regex declaration(R"(^\s*,\s*"[a-z_ ]+",\s*(Better::)?(higher|lower)\b)");
  size_t uses = 0;
  for (size_t at = sources.find(quoted); at != std::string::npos;
       at = sources.find(quoted, at + 1)) {
    const std::string behind = sources.substr(at + quoted.size(), 80);
    uses += std::regex_search(behind, declaration) ? 0 : 1;
  }
  return uses;
}

}  // namespace

TEST_CASE("unit and direction of a metric come from the case's declaration") {
  const Run run = run_on(
      2, case_of([](Context& c, const Params&) -> std::vector<Record> { return {good(c)}; }));
  REQUIRE(run.records.size() == 1);
  for (const Metric& m : run.records[0].metrics) {
    CHECK(m.unit == "seconds");
    CHECK(m.better == Better::lower);
  }
}

TEST_CASE("a metric that the case does not declare is an error that names it") {
  const Run run = run_on(1, case_of([](Context& c, const Params&) -> std::vector<Record> {
                           Record r = good(c);
                           r.add("mm", 0, {1});
                           return {r};
                         }));
  REQUIRE(run.records.size() == 1);
  CHECK(std::get<Errored>(run.records[0].outcome).what == "case x does not declare its metric mm");
}

TEST_CASE("a unit that is stated a second time must be the same") {
  const CaseInfo info{.name = "x", .metrics = {{"m", "seconds", Better::lower, ""}}};
  Record r{.case_name = "x"};
  r.metrics.push_back({.name = "m", .unit = "seconds", .samples = {1}});
  CHECK_NOTHROW(complete_metrics(r, info));
  CHECK(r.metrics[0].better == Better::lower);
  r.metrics[0].unit = "hertz";
  CHECK_THROWS_WITH_AS(complete_metrics(r, info), "case x declares m in seconds, not in hertz",
                       Error);
}

TEST_CASE("every metric that a case declares is emitted somewhere") {
  const std::string sources = sources_of_bench();
  // tcp puts the first before the names of the other direction, a grid the others before those of
  // its dimensions.
  const std::vector<std::string> composed{"reverse_", "dp_", "tp_", "pp_"};
  for (const CaseInfo& info : catalogue()) {
    for (const MetricDef& def : info.metrics) {
      std::string name = def.name;
      for (const std::string& front : composed)
        if (name.starts_with(front)) name = name.substr(front.size());
      CHECK_MESSAGE(uses_of(name, sources) > 0, info.name, " declares ", def.name);
    }
  }
}

TEST_CASE("every metric that is added is declared by some case") {
  std::set<std::string> declared;
  for (const CaseInfo& info : catalogue()) {
    for (const MetricDef& def : info.metrics) declared.insert(def.name);
  }
  const std::string sources = sources_of_bench();
  const std::regex added(R"re((?:record\w*(?:\.front\(\))?|disturbed)\.add\(\s*"([a-z0-9_]+)",)re");
  size_t found = 0;
  for (std::sregex_iterator i(sources.begin(), sources.end(), added), end; i != end; ++i) {
    const std::string name = (*i)[1];
    CHECK_MESSAGE(declared.contains(name), name);
    ++found;
  }
  CHECK(found > 25);
}

TEST_CASE("every case says how a fault is planted, or why none can be") {
  for (const CaseInfo& info : catalogue()) {
    const FaultPlan& plan = info.fault;
    const auto has_param = [&](const std::string& name) {
      return std::ranges::any_of(info.params, [&](const ParamDef& d) { return d.name == name; });
    };
    CHECK_MESSAGE(plan.planted.empty() != plan.why_not.empty(), info.name);
    CHECK_MESSAGE(has_param("inject-fault") == !plan.planted.empty(), info.name);
    CHECK_MESSAGE(plan.checks.empty() == plan.planted.empty(), info.name);
    for (const std::string& check : plan.checks)
      CHECK_MESSAGE(std::ranges::count(info.checks, check) == 1, info.name, " ", check);
    for (const auto& given : plan.brief) CHECK_MESSAGE(has_param(given.first), given.first);
    for (const Blind& blind : plan.blind) CHECK_MESSAGE(has_param(blind.param), blind.param);
  }
}
