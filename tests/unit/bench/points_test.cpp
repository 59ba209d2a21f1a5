// The loop over points: what one point costs, and what is kept.
#include "bench/harness/points.h"

#include <doctest/doctest.h>

#include "tests/unit/bench/case_runner.h"

using namespace cb;

namespace {

const std::vector<int64_t> kSizes{1, 2, 3};

// A case of three sizes; `misbehave(context, size)` may throw.
template <typename F>
Case sweep_case(F misbehave) {
  return case_of([misbehave](Context& c, const Params& params) {
    return run_points(
        c, "x", kSizes,
        [&](int64_t size) {
          return PointName{params.with("size", size), "size " + std::to_string(size)};
        },
        [&](int64_t size) {
          misbehave(c, size);
          Record r = good(c);
          r.params.set("size", size);
          return r;
        });
  });
}

std::vector<int64_t> sizes_in(const std::vector<Record>& records) {
  std::vector<int64_t> out;
  for (const Record& r : records) out.push_back(r.params.integer("size"));
  return out;
}

}  // namespace

TEST_CASE("every point gives its record, with its own start and end") {
  const Run run = run_on(3, sweep_case([](Context&, int64_t) {}));
  CHECK(sizes_in(run.records) == kSizes);
  for (const Record& r : run.records) {
    CHECK(r.metrics.size() == 3);
    CHECK(r.started.size() == 20);
    CHECK(r.ended.size() == 20);
  }
}

TEST_CASE("an error at one point costs that point on all ranks, and the record says whose") {
  for (const int ranks : {1, 3}) {
    const Run run = run_on(ranks, sweep_case([&](Context& c, int64_t size) {
                             if (size == 2 && c.comm.rank() == ranks - 1) throw Error("broke");
                           }));
    REQUIRE(sizes_in(run.records) == kSizes);
    CHECK(run.records[0].metrics.size() == static_cast<size_t>(ranks));
    CHECK(run.records[2].metrics.size() == static_cast<size_t>(ranks));
    const auto& e = std::get<Errored>(run.records[1].outcome);
    CHECK(e.what == "broke");
    CHECK(e.where == (ranks == 1 ? "n0" : "n2 rank 2"));
    CHECK(run.records[1].metrics.empty());
    CHECK(run.records[1].case_name == "x");
  }
}

TEST_CASE("an error at every point errs every point") {
  const Run run = run_on(2, sweep_case([](Context&, int64_t) { throw Error("broke"); }));
  REQUIRE(sizes_in(run.records) == kSizes);
  for (const Record& r : run.records)
    CHECK(std::get<Errored>(r.outcome).what == "broke; n1 rank 1: broke");
}

TEST_CASE("an interrupt after k points keeps k, wherever it came") {
  for (const int64_t k : {0, 1, 2}) {
    for (const int who : {0, 2}) {
      const Run run = run_on(3, sweep_case([&](Context& c, int64_t size) {
                               if (size == k + 1 && c.comm.rank() == who) throw Interrupted();
                             }));
      CHECK(sizes_in(run.records) == std::vector<int64_t>(kSizes.begin(), kSizes.begin() + k));
      for (const std::string& t : run.thrown) CHECK(t == "interrupted");
    }
  }
}

TEST_CASE("what a rank has measured is published before it waits for the others") {
  const Run run = run_on(3, sweep_case([](Context& c, int64_t size) {
                           if (size == 2 && c.comm.rank() == 1) throw Error("broke");
                         }));
  for (const int rank : {0, 1, 2}) {
    const auto& published = run.published[static_cast<size_t>(rank)];
    CHECK(sizes_in(published) == kSizes);
    CHECK(published[0].measured());
    CHECK(published[1].measured() == (rank != 1));
  }
}

TEST_CASE("wrong usage that the first point finds is refused, and later ones cost their point") {
  const Run first = run_on(2, sweep_case([](Context& c, int64_t) {
                             if (c.comm.rank() == 1) throw UsageError("y", "--dir", "is missing");
                           }));
  CHECK(first.records.empty());
  for (const std::string& t : first.thrown)
    CHECK(t == "clusterbench x: 1 problem\n  --dir  is missing");
  const Run later = run_on(2, sweep_case([](Context&, int64_t size) {
                             if (size == 2) throw UsageError("y", "--dir", "is missing");
                           }));
  REQUIRE(sizes_in(later.records) == kSizes);
  CHECK(std::holds_alternative<Errored>(later.records[1].outcome));
  CHECK(later.records[2].measured());
}

TEST_CASE("a point may give several records, or be one of many that fail") {
  const Case c = case_of([](Context& context, const Params& params) {
    const std::vector<PointName> names{{params.with("size", int64_t{1}), "first"},
                                       {params.with("size", int64_t{2}), "second"}};
    return run_points(context, "x", names, [&](size_t i) -> std::vector<Record> {
      if (i == 0 && context.comm.rank() == 0) throw Error("broke");
      if (i == 0) return {good(context), good(context), good(context)};
      return {good(context), good(context)};
    });
  });
  const Run run = run_on(2, c);
  REQUIRE(run.records.size() == 3);
  CHECK(std::holds_alternative<Errored>(run.records[0].outcome));
  CHECK(run.records[0].params.integer("size") == 1);
  CHECK(run.records[1].metrics.size() == 2);
}
