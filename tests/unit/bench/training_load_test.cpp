// What a replica under load gave, as figures; and what it holds in memory.
#include <doctest/doctest.h>

#include "bench/training/load_record.h"
#include "tests/unit/bench/thread_comm.h"

using namespace cb;
using namespace cb::training;

namespace {

InferOptions two_at_once() {
  InferOptions out;
  out.generation = {2, 4, 5};
  return out;
}

// Three requests: the first alone for 2 s, then two together for 2 s.
Loaded three_served() {
  Loaded out{.arrivals = {1, 2, 2.5}, .servings = {{0, 1, 1, 2, 3}, {1, 2, 3, 4, 5}}};
  out.full_seconds = {1.5, 2};  // one before the load
  return out;
}

Record figures_at(double rate) {
  Record out{.case_name = "infer"};
  const auto comm = single_comm();
  add_load_figures(*comm, out, out.entity({"h", "rank", "0"}), two_at_once(), rate, three_served());
  return out;
}

// The shares of four ranks, two for each replica, of which the second of each serves nobody. All
// sequences take the second replica `longer` times as long.
std::vector<Record> figures_of_two_replicas(double rate, double longer) {
  std::vector<Record> out(4, Record{.case_name = "infer"});
  ThreadGroup(4).run([&](Comm& comm) {
    Loaded loaded = comm.rank() % 2 == 0 ? three_served() : Loaded{.full_seconds = {1e3}};
    if (comm.rank() == 2) loaded.full_seconds = {1.5 * longer, 2 * longer};
    Record& mine = out[static_cast<size_t>(comm.rank())];
    add_load_figures(comm, mine, mine.entity({"h", "rank", std::to_string(comm.rank())}),
                     two_at_once(), rate, loaded);
  });
  return out;
}

double only_sample(const Record& record, const char* name) {
  const Metric* metric = record.find(name);
  REQUIRE_MESSAGE(metric != nullptr, name);
  REQUIRE(metric->samples.count() == 1);
  return metric->samples.list().front();
}

std::vector<double> samples_of(const Record& record, const char* name) {
  const Metric* metric = record.find(name);
  REQUIRE_MESSAGE(metric != nullptr, name);
  return {metric->samples.list().begin(), metric->samples.list().end()};
}

}  // namespace

TEST_CASE("figures of a load by hand") {
  const Record r = figures_at(1);
  CHECK(only_sample(r, "offered_requests_per_second") == doctest::Approx(3 / 2.5));
  CHECK(only_sample(r, "offered_tokens_per_second") == doctest::Approx(6));
  CHECK(only_sample(r, "requests_per_second") == doctest::Approx(3 / 5.0));
  CHECK(only_sample(r, "generated_tokens_per_second") == doctest::Approx(3));
  CHECK(only_sample(r, "capacity_requests_per_second") == doctest::Approx(2 / 1.75));
  CHECK(only_sample(r, "busy_share") == doctest::Approx(4 / 5.0));
  CHECK(samples_of(r, "requests_of_generation") == std::vector<double>{1, 2});
  CHECK(samples_of(r, "queueing_seconds") == std::vector<double>{0, 1, 0.5});
  CHECK(samples_of(r, "request_first_token_seconds") == std::vector<double>{1, 2, 1.5});
  // Between the second and the third of three: 0.8 of the way.
  CHECK(only_sample(r, "request_first_token_p90_seconds") == doctest::Approx(1.9));
  CHECK(samples_of(r, "request_seconds") == std::vector<double>{2, 3, 2.5});
  CHECK(samples_of(r, "request_token_seconds") == std::vector<double>(3, 0.25));
  CHECK(r.notes.empty());
}

TEST_CASE("from the capacity on latencies from the arrival are left out, with the reason") {
  const double capacity = 2 / 1.75;
  CHECK(figures_at(capacity * 0.999).find("request_seconds") != nullptr);
  const Record r = figures_at(capacity);
  for (const char* name : {"queueing_seconds", "request_first_token_seconds",
                           "request_first_token_p90_seconds", "request_seconds"})
    CHECK_MESSAGE(r.find(name) == nullptr, name);
  CHECK(r.find("request_token_seconds") != nullptr);
  CHECK(r.find("requests_per_second") != nullptr);
  REQUIRE(r.notes.size() == 1);
  CHECK(r.notes[0].text().find("h:0: 1.14 /s are offered and at most 1.14 /s") == 0);
}

TEST_CASE("a replica that keeps up does not stand for one that cannot") {
  const double capacity = 2 / 1.75;
  const auto all = figures_of_two_replicas(capacity * 0.9, 1.2);
  for (const size_t serving : {0, 2}) {
    CHECK(all[serving].find("request_first_token_seconds") == nullptr);
    CHECK(all[serving].find("queueing_seconds") == nullptr);
    REQUIRE(all[serving].notes.size() == 1);
  }
  CHECK(only_sample(all[0], "capacity_requests_per_second") == doctest::Approx(capacity));
  CHECK(only_sample(all[2], "capacity_requests_per_second") == doctest::Approx(capacity / 1.2));
  CHECK(all[0].notes[0].text().find("at least one replica") != std::string::npos);
  CHECK(all[2].notes[0].text().find("h:2: 1.03 /s are offered and at most 0.952 /s") == 0);
  const auto both = figures_of_two_replicas(capacity * 0.9, 1.05);
  for (const size_t serving : {0, 2}) {
    CHECK(both[serving].find("request_first_token_seconds") != nullptr);
    CHECK(both[serving].notes.empty());
  }
  for (const size_t follower : {1, 3})
    CHECK((all[follower].metrics.empty() && both[follower].metrics.empty()));
}

TEST_CASE("of many requests a record keeps histograms, and the p90 of all samples") {
  Loaded m{.full_seconds = {1}};
  for (size_t i = 0; i < 3000; ++i) {
    const auto begin = static_cast<double>(2 * i);  // a request each 2 s, later by 1 ms each time
    m.arrivals.push_back(begin - 0.001 * static_cast<double>(i));
    m.servings.push_back({i, 1, begin, begin + 0.5, begin + 1});
  }
  Record r{.case_name = "infer"};
  const auto comm = single_comm();
  add_load_figures(*comm, r, r.entity({"h", "rank", "0"}), two_at_once(), 1, m);
  for (const char* name : {"queueing_seconds", "request_first_token_seconds", "request_seconds",
                           "request_token_seconds", "requests_of_generation"}) {
    const Metric* metric = r.find(name);
    REQUIRE_MESSAGE(metric != nullptr, name);
    CHECK_MESSAGE(metric->samples.histogram() != nullptr, name);
    CHECK_MESSAGE(metric->samples.count() == 3000, name);
  }
  CHECK(only_sample(r, "request_first_token_p90_seconds") == doctest::Approx(0.5 + 2.9990 * 0.9));
  const double p99 = r.find("request_first_token_seconds")->samples.summary().p99;
  CHECK(p99 == doctest::Approx(0.5 + 2.999 * 0.99).epsilon(0.004));
}

TEST_CASE("the capacity is of all generations that cost what a full one does") {
  const auto of_count = [](size_t count, double seconds) {
    return Serving{0, count, 10, 10.5, 10 + seconds};
  };
  const std::vector<Serving> all = {of_count(8, 1), of_count(4, 2), of_count(5, 3), of_count(1, 4)};
  CHECK(seconds_of_full(all, 8) == std::vector<double>{1, 3});  // five are filled up to eight
  const std::vector<Serving> few = {of_count(1, 2), of_count(2, 3)};
  CHECK(seconds_of_full(few, 2) == std::vector<double>{3});
  CHECK(seconds_of_full(few, 1) == std::vector<double>{2, 3});
}

TEST_CASE("a replica holds a generator for each power of two, and for the batch") {
  CHECK(generation_sizes(1) == std::vector<int64_t>{1});
  CHECK(generation_sizes(3) == std::vector<int64_t>{1, 2, 3});
  CHECK(generation_sizes(8) == std::vector<int64_t>{1, 2, 4, 8});
  const Shape shape = {"small", 2, 12, 4, 2, 6, 10, 14};
  const auto alone = [&](int64_t n) { return inference_memory(shape, 1, {n, 7, 6}, 4); };
  CHECK(load_memory(shape, 1, {1, 7, 6}, 4) == doctest::Approx(alone(1)));
  // The weights once.
  CHECK(load_memory(shape, 1, {3, 7, 6}, 4) ==
        doctest::Approx(alone(1) + alone(2) + alone(3) - 2 * alone(0)));
}

TEST_CASE("loads must have the time to come before the deadline, all rates and batches together") {
  InferOptions o = two_at_once();
  o.rates = {0.5, 2};
  o.requests = 200;
  CHECK_NOTHROW(require_time_for_loads(o, 1, 500));
  CHECK_THROWS_AS(require_time_for_loads(o, 1, 499), UsageError);
  CHECK_NOTHROW(require_time_for_loads(o, 2, 1000));
  CHECK_THROWS_AS(require_time_for_loads(o, 2, 999), UsageError);
  o.rates.clear();
  CHECK_NOTHROW(require_time_for_loads(o, 1, 1));
}

TEST_CASE("all sizes take up to three times what the largest does, twice for a power of two") {
  const Shape shape = {"small", 2, 12, 4, 2, 6, 10, 14};
  const auto needed = [&](int64_t n) { return inference_memory(shape, 1, {n, 7, 6}, 4); };
  const auto times = [&](int64_t n) {
    return (load_memory(shape, 1, {n, 7, 6}, 4) - needed(0)) / (needed(n) - needed(0));
  };
  CHECK(times(64) == doctest::Approx(127.0 / 64));
  CHECK(times(33) == doctest::Approx(96.0 / 33));
}
