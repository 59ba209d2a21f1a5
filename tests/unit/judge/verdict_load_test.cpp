// Latencies of requests that arrive faster than they are served: absent, and what is put beside
// them.
#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// Two replicas of a host; 50 requests a second come to each. With latencies only if both keep up.
Campaign loaded_replicas(double slower, bool with_latencies) {
  Record r{.case_name = "infer"};
  r.params.set("arrival-rate", 50.0);
  for (const int rank : {0, 1}) {
    const size_t self = r.entity({"n1", "rank", std::to_string(rank)});
    Metric capacity{.name = "capacity_requests_per_second", .unit = "count per second"};
    capacity.entity = self;
    capacity.samples.add(rank == 0 ? 52 : slower);
    r.metrics.push_back(capacity);
    if (!with_latencies) continue;
    Metric first{.name = "request_first_token_seconds", .unit = "seconds"};
    first.entity = self;
    first.samples.add(0.8);
    r.metrics.push_back(first);
  }
  Campaign c;
  c.hosts = {"n1"};
  c.inventories.push_back({.host = "n1"});
  c.jobs.push_back(done("n1", document({"n1"}, {r})));
  return c;
}

Profile latency_and_capacity() {
  return profile({metric_criterion({.metric = "request_first_token_seconds", .max = 1}),
                  metric_criterion({.metric = "capacity_requests_per_second", .min = 50})});
}

}  // namespace

TEST_CASE("a rate beyond the capacity fails by the capacity where the latency stays open") {
  const Profile p = latency_and_capacity();
  const Judgement beyond = judge(loaded_replicas(48, false), p, {}, kToday);
  CHECK(beyond.criteria.at(0).state == State::incomplete);
  CHECK(beyond.criteria.at(1).state == State::fail);
  CHECK(beyond.criteria.at(1).reason.find("48.0 /s") != std::string::npos);
  CHECK(beyond.overall() == State::fail);
  CHECK(judge(loaded_replicas(51, true), p, {}, kToday).overall() == State::pass);
}
