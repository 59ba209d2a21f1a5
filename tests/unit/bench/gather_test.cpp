#include "bench/harness/gather.h"

#include <mutex>

#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/unit/bench/thread_comm.h"
#include "tests/unit/timing.h"

using namespace cb;

namespace {

Record record_of(int rank, const std::string& host) {
  Record r{.case_name = "x"};
  r.params.set("size", int64_t{4});
  const size_t shared = r.entity({"", "cluster", ""});
  const size_t own = r.entity({host, "rank", std::to_string(rank)});
  r.metrics.push_back(
      {.name = "m", .unit = "seconds", .entity = own, .samples = Samples{1.0 + rank, 2.0 + rank}});
  if (rank == 0)
    r.metrics.push_back(
        {.name = "all", .unit = "seconds", .entity = shared, .samples = Samples{7}});
  r.checks.push_back({.name = "data", .passed = true, .entity = own});
  r.telemetry.series.push_back({"load", "count", own, {0, 1}, {2, 3}});
  r.facts = {{"library", rank % 2 == 0 ? "a" : "b"}, {"same", "s"}};
  r.notes = {"note", "of " + host};
  r.started = "2026-01-01T00:00:0" + std::to_string(rank % 10) + "Z";
  r.ended = "2026-01-01T00:01:0" + std::to_string(rank % 10) + "Z";
  return r;
}

std::vector<std::vector<Record>> ranks_of(int count, const char* host = "h") {
  std::vector<std::vector<Record>> out;
  for (int r = 0; r < count; ++r) out.push_back({record_of(r, host)});
  return out;
}

double seconds_to_join(int ranks) {
  const auto input = ranks_of(ranks);
  return test::least_busy_seconds(3, [&] {
    REQUIRE(join_records(input)[0].entities.size() == static_cast<size_t>(ranks) + 1);
  });
}

}  // namespace

TEST_CASE("joining keeps every rank's numbers, in rank order, and one of equal entities") {
  const auto joined = join_records(ranks_of(3));
  REQUIRE(joined.size() == 1);
  const Record& r = joined[0];
  REQUIRE(r.entities.size() == 4);
  CHECK(r.entities[0].kind == "cluster");
  REQUIRE(r.metrics.size() == 4);
  CHECK(r.metrics[0].samples.list()[0] == 1);
  CHECK(r.metrics[1].name == "all");
  CHECK(r.metrics[3].samples.list()[1] == 4);
  for (const size_t i : {0, 2, 3}) {
    const Entity& e = r.entities[r.metrics[i].entity];
    CHECK(e.id == std::to_string(i == 0 ? 0 : i - 1));
  }
  CHECK(r.checks.size() == 3);
  CHECK(r.telemetry.series.size() == 3);
  CHECK(r.facts.at("library") == "a; b");
  CHECK(r.facts.at("same") == "s");
  CHECK(r.notes == std::vector<Said>{"note", "of h"});
  CHECK(r.started == "2026-01-01T00:00:00Z");
  CHECK(r.ended == "2026-01-01T00:01:02Z");
}

TEST_CASE("an error on any rank is the record's, with every failing rank named") {
  auto ranks = ranks_of(4);
  ranks[1][0].outcome = Skipped{"no"};
  ranks[2][0].outcome = Errored{"h rank 2", "broke"};
  ranks[3][0].outcome = Errored{"h rank 3", "too"};
  const Record r = join_records(ranks)[0];
  const auto& e = std::get<Errored>(r.outcome);
  CHECK(e.where == "h rank 2");
  CHECK(e.what == "broke; h rank 3: too");
  CHECK(r.metrics.empty());
  CHECK(r.telemetry.series.empty());
}

TEST_CASE("a rank that measured before it failed sends all of it, and joining takes the numbers") {
  Record failed = record_of(1, "h");
  failed.outcome = Errored{"h rank 1", "read failed (EIO)"};
  const Record sent = unpack_record(pack_record(failed));
  CHECK(sent.metrics.size() == failed.metrics.size());
  const auto joined = join_records({{record_of(0, "h")}, {sent}});
  CHECK(std::get<Errored>(joined.at(0).outcome).what.text() == "read failed (EIO)");
  CHECK(joined[0].metrics.empty());
}

TEST_CASE("of many failing ranks some are named") {
  auto ranks = ranks_of(1000);
  for (int r = 0; r < 1000; ++r)
    ranks[static_cast<size_t>(r)][0].outcome = Errored{"rank " + std::to_string(r), "broke"};
  const auto what = std::get<Errored>(join_records(ranks)[0].outcome).what;
  CHECK(what.text().find("rank 7") != std::string::npos);
  CHECK(what.text().size() < 200);
}

TEST_CASE("wrong data on one rank takes every rank's numbers, not the telemetry") {
  auto ranks = ranks_of(3);
  ranks[2][0].checks[0].passed = false;
  const Record r = join_records(ranks)[0];
  CHECK(r.measured());
  CHECK(r.metrics.empty());
  CHECK(r.checks.size() == 3);
  CHECK(r.telemetry.series.size() == 3);
}

TEST_CASE("ranks that measured different things are an error") {
  auto fewer = ranks_of(2);
  fewer[1].clear();
  CHECK_THROWS_AS(join_records(fewer), Error);
  auto more = ranks_of(2);
  more[1].push_back(more[1][0]);
  CHECK_THROWS_AS(join_records(more), Error);
  auto other = ranks_of(2);
  other[1][0].params.set("size", int64_t{8});
  CHECK_THROWS_AS(join_records(other), Error);
}

TEST_CASE("joining 1,000 ranks takes about ten times as long as 100, not a hundred times") {
#ifdef CB_SANITIZED
  constexpr double kMax = 30;  // their allocator slows down with what is allocated
#else
  constexpr double kMax = 15;
#endif
  CHECK(seconds_to_join(1000) < kMax * seconds_to_join(100) + 0.001);
}

TEST_CASE("records travel to rank 0 unchanged") {
  ThreadGroup group(4);
  std::vector<Record> at_root;
  size_t elsewhere = 0;
  std::mutex mutex;
  group.run([&](Comm& comm) {
    auto joined = gather_records(comm, {record_of(comm.rank(), "h")});
    const std::lock_guard lock(mutex);
    if (comm.is_root())
      at_root = std::move(joined);
    else
      elsewhere += joined.size();
  });
  CHECK(elsewhere == 0);
  REQUIRE(at_root.size() == 1);
  REQUIRE(at_root[0].metrics.size() == 5);
  CHECK(at_root[0].metrics[4].samples.list()[1] == 5);
}
