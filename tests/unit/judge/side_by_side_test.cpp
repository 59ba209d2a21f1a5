// Figures of several campaigns beside one another: which records meet, and what is said of the
// others.
#include "judge/side_by_side.h"

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

struct Measured {
  std::string op;
  int64_t traffic_class;
  std::vector<double> of_hosts;
};

// A step for each element; the ceiling of every figure is 10.
Campaign made_of(const std::vector<Measured>& measured) {
  Campaign out;
  out.profile.steps.reserve(measured.size());
  for (const Measured& m : measured) {
    const std::string step = "step" + std::to_string(out.profile.steps.size());
    out.profile.steps.push_back({.id = step, .case_name = "verbs"});
    Record record{.case_name = "verbs"};
    record.params.set("op", m.op);
    record.params.set("traffic-class", m.traffic_class);
    for (size_t i = 0; i < m.of_hosts.size(); ++i)
      record.add("bytes_per_second", record.entity({"n" + std::to_string(i + 1), "host", ""}),
                 Samples{m.of_hosts[i]}, Ceiling{10, Said("what the port can do")});
    Document document;
    document.records.push_back(std::move(record));
    out.jobs.push_back({.step = step, .state = JobState::done, .document = std::move(document)});
  }
  return out;
}

}  // namespace

TEST_CASE("records meet by what varies within a campaign, and the rest is told") {
  const Campaign a = made_of({{"write", 0, {4, 2, 6}}, {"read", 0, {3}}});
  const Campaign b = made_of({{"write", 106, {8, 9}}, {"send", 106, {1}}});
  const SideBySide found = side_by_side({gather_metrics(a, {}), gather_metrics(b, {})});
  REQUIRE(found.rows.size() == 3);
  const SideRow& both = found.rows[0];
  CHECK(both.case_name == "verbs");
  CHECK(both.point == "op write");
  REQUIRE((both.figures[0] && both.figures[1]));
  CHECK(both.figures[0]->typical == 4);
  CHECK(both.figures[0]->worst == 2);
  CHECK(both.figures[0]->worst_entity == "n2");
  CHECK(both.figures[0]->entities == 3);
  CHECK(both.figures[0]->share_of_ceiling == doctest::Approx(0.2));
  CHECK(both.figures[1]->typical == 8.5);
  CHECK((found.rows[1].point == "op read" && !found.rows[1].figures[1]));
  CHECK((found.rows[2].point == "op send" && !found.rows[2].figures[0]));
  REQUIRE(found.differences.size() == 1);
  CHECK(found.differences[0].param == "traffic-class");
  CHECK(found.differences[0].values == std::vector<std::string>{"0", "106"});
}

TEST_CASE("two equal steps of a campaign meet steps of their own names only") {
  const Campaign a = made_of({{"write", 0, {4}}, {"write", 0, {5}}});
  const Campaign b = made_of({{"write", 0, {6}}});
  const SideBySide found = side_by_side({gather_metrics(a, {}), gather_metrics(b, {})});
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].point == "step step0");
  CHECK((found.rows[0].figures[0]->typical == 4 && found.rows[0].figures[1]->typical == 6));
  CHECK(found.rows[1].point == "step step1");
  CHECK((found.rows[1].figures[0]->typical == 5 && !found.rows[1].figures[1]));
  CHECK(found.differences.empty());
}

TEST_CASE("a step within hosts is not put beside one across them, and other ranks are told") {
  Campaign a = made_of({{"write", 0, {4}}});
  Campaign b = made_of({{"write", 0, {6}}});
  b.profile.steps[0].scope = Scope::cluster;
  const SideBySide apart = side_by_side({gather_metrics(a, {}), gather_metrics(b, {})});
  REQUIRE(apart.rows.size() == 2);
  CHECK(apart.rows[0].point == "scope host");
  CHECK(apart.rows[1].point == "scope cluster");
  CHECK((!apart.rows[0].figures[1] && !apart.rows[1].figures[0]));
  b.profile.steps[0].scope = Scope::host;
  a.jobs[0].document->run.ranks = 2;
  b.jobs[0].document->run.ranks = 8;
  b.profile.steps[0].env = {{"NCCL_ALGO", "Ring"}};
  const SideBySide found = side_by_side({gather_metrics(a, {}), gather_metrics(b, {})});
  CHECK(found.rows.size() == 1);
  REQUIRE(found.differences.size() == 2);
  CHECK(found.differences[0].param == "env NCCL_ALGO");
  CHECK(found.differences[0].values == std::vector<std::string>{"", "Ring"});
  CHECK(found.differences[1].param == "ranks");
  CHECK(found.differences[1].values == std::vector<std::string>{"2", "8"});
}
