#include "bench/harness/runner.h"

#include <doctest/doctest.h>

#include "bench/registry.h"
#include "core/messages/texts.h"
#include "tests/unit/bench/case_runner.h"

using namespace cb;

TEST_CASE("records of all ranks arrive with their times") {
  const Run run = run_on(3, case_of([](Context& c, const Params&) -> std::vector<Record> {
                           return {good(c), good(c)};
                         }));
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[1].metrics.size() == 3);
  CHECK(run.records[0].started.size() == 20);
}

TEST_CASE("a rank that throws makes one errored record that names it") {
  const Run run = run_on(3, case_of([](Context& c, const Params&) -> std::vector<Record> {
                           if (c.comm.rank() == 2) throw Error("broke");
                           return {good(c), good(c)};
                         }));
  REQUIRE(run.records.size() == 1);
  const auto& e = std::get<Errored>(run.records[0].outcome);
  CHECK(e.where == "n2 rank 2");
  CHECK(e.what == "broke");
  CHECK(run.records[0].metrics.empty());
}

TEST_CASE("what one rank refuses, all refuse") {
  const Run run = run_on(3, case_of([](Context& c, const Params&) -> std::vector<Record> {
                           if (c.comm.rank() == 1) throw UsageError("y", "--dir", "is missing");
                           return {good(c)};
                         }));
  CHECK(run.records.empty());
  for (const std::string& t : run.thrown)
    CHECK(t == "clusterbench x: 1 problem\n  --dir  is missing");
}

TEST_CASE("an interrupted rank interrupts all") {
  const Run run = run_on(3, case_of([](Context& c, const Params&) -> std::vector<Record> {
                           if (c.comm.rank() == 1) throw Interrupted();
                           if (c.comm.rank() == 2) throw Error("broke");
                           return {good(c)};
                         }));
  CHECK(run.records.empty());
  for (const std::string& t : run.thrown) CHECK(t == "interrupted");
}

TEST_CASE("what all ranks had finished before they were interrupted is kept") {
  const Run run = run_on(3, case_of([](Context& c, const Params&) -> std::vector<Record> {
                           for (int i = 0; i < (c.comm.rank() == 0 ? 3 : 2); ++i) c.finish(good(c));
                           throw Interrupted();
                         }));
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[0].metrics.size() == 3);
  for (const std::string& t : run.thrown) CHECK(t == "interrupted");
}

TEST_CASE("what all ranks had finished before one failed is kept, with the failure behind it") {
  const Run run = run_on(3, case_of([](Context& c, const Params&) -> std::vector<Record> {
                           c.finish(good(c));
                           if (c.comm.rank() == 2) throw Error("broke");
                           return {good(c), good(c)};
                         }));
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[0].metrics.size() == 3);
  CHECK(std::get<Errored>(run.records[1].outcome).where == "n2 rank 2");
  for (const std::string& t : run.thrown) CHECK(t.empty());
}

TEST_CASE("an unmet need is skipped with the reason, and the case does not run") {
  bool ran = false;
  const auto body = [&](Context&, const Params&) -> std::vector<Record> {
    ran = true;
    return {};
  };
  const Run few = run_on(1, case_of(body, {.ranks = 2}));
  REQUIRE(few.records.size() == 1);
  CHECK(
      std::get<Skipped>(few.records[0].outcome).reason.text().starts_with("needs 2 ranks, has 1"));
  const Run no_gpu = run_on(2, case_of(body, {.gpu = true}));
  CHECK(std::get<Skipped>(no_gpu.records[0].outcome).reason.text().starts_with("no GPU on n"));
  CHECK_FALSE(ran);
}

TEST_CASE("every metric of every case has a name in both languages") {
  for (const CaseInfo& info : catalogue()) {
    for (const MetricDef& metric : info.metrics)
      CHECK_MESSAGE(has_text("metric." + metric.name), metric.name);
  }
}
