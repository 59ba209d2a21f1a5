#include "bench/runner.h"

#include <mutex>

#include <doctest/doctest.h>

#include "bench/registry.h"
#include "core/error.h"
#include "core/texts.h"
#include "tests/unit/bench/thread_comm.h"

using namespace cb;

namespace {

class NoProgress final : public Progress {
 public:
  void update(double, const std::string&) override {}
  void done() override {}
};

struct Run {
  std::vector<Record> records;      // of rank 0
  std::vector<std::string> thrown;  // by rank
};

Run run_on(int ranks, const Case& c) {
  Run out{{}, std::vector<std::string>(static_cast<size_t>(ranks))};
  std::mutex mutex;
  ThreadGroup group(ranks);
  group.run([&](Comm& comm) {
    const Place place = locate_ranks(comm, "n" + std::to_string(comm.rank()));
    Watchdog watchdog([](const WatchState&) {});
    const CancelToken cancel;
    Sampler sampler(comm, watchdog, cancel);
    NoProgress progress;
    const FsRoot fs("/nonexistent");
    const HostInventory inventory{place.host};
    Context context{comm, place, sampler, watchdog, cancel, progress, fs, inventory};
    try {
      auto records = run_case(c, context, {});
      const std::lock_guard lock(mutex);
      if (comm.is_root()) out.records = std::move(records);
    } catch (const Interrupted& e) {
      const std::lock_guard lock(mutex);
      if (comm.is_root()) out.records = e.finished();
      out.thrown[static_cast<size_t>(comm.rank())] = e.what();
    } catch (const std::exception& e) {
      const std::lock_guard lock(mutex);
      out.thrown[static_cast<size_t>(comm.rank())] = e.what();
    }
  });
  return out;
}

Case case_of(RunCase run, Needs needs = {}) {
  Case c{.info = {.name = "x"}, .run = std::move(run)};
  c.info.needs = needs;
  return c;
}

Record good(const Context& context) {
  Record r{.case_name = "x"};
  r.metrics.push_back({.name = "m",
                       .unit = "seconds",
                       .entity = r.entity({context.place.host, "host", ""}),
                       .samples = Samples{1}});
  return r;
}

}  // namespace

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
                           std::vector<Record> finished{good(c), good(c)};
                           if (c.comm.rank() == 0) finished.push_back(good(c));
                           throw Interrupted(std::move(finished));
                         }));
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[0].metrics.size() == 3);
  for (const std::string& t : run.thrown) CHECK(t == "interrupted");
}

TEST_CASE("an unmet need is skipped with the reason, and the case does not run") {
  bool ran = false;
  const auto body = [&](Context&, const Params&) -> std::vector<Record> {
    ran = true;
    return {};
  };
  const Run few = run_on(1, case_of(body, {.ranks = 2}));
  REQUIRE(few.records.size() == 1);
  CHECK(std::get<Skipped>(few.records[0].outcome).reason.starts_with("needs 2 ranks, has 1"));
  const Run no_gpu = run_on(2, case_of(body, {.gpu = true}));
  CHECK(std::get<Skipped>(no_gpu.records[0].outcome).reason.starts_with("no GPU on n"));
  CHECK_FALSE(ran);
}

TEST_CASE("every metric of every case has a name in both languages") {
  for (const CaseInfo& info : catalogue()) {
    for (const MetricDef& metric : info.metrics)
      CHECK_MESSAGE(has_text("metric." + metric.name), metric.name);
  }
}
