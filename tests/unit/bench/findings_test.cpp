#include "bench/network/pairs/findings.h"

#include <functional>

#include <doctest/doctest.h>

using namespace cb;

namespace {

FleetNames four_hosts() {
  FleetNames names;
  for (int i = 0; i < 4; ++i) names.units.push_back({i, "n" + std::to_string(i)});
  return names;
}

// Every directed pair once; `failure` says what happened, empty for a good one.
std::vector<PairReading> readings(const std::function<std::string(int, int)>& failure) {
  std::vector<PairReading> out;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      if (a == b) continue;
      PairReading r{.from = a, .to = b};
      r.failure = failure(a, b);
      if (r.failure.empty()) r.value = 1e9;
      out.push_back(r);
    }
  }
  return out;
}

std::vector<std::string> failed(const Record& record) {
  std::vector<std::string> out;
  for (const Check& c : record.checks) {
    CHECK(c.name == "no_suspect");
    CHECK(c.finding);
    if (!c.passed) out.push_back(entity_name(record.entities[c.entity]) + "|" + c.detail.text());
  }
  return out;
}

}  // namespace

TEST_CASE("nothing slow and nothing failed is one passed check") {
  Record record;
  add_findings(record, four_hosts(), readings([](int, int) { return ""; }), {});
  CHECK(record.checks.size() == 1);
  CHECK(failed(record).empty());
}

TEST_CASE("a host that answers nobody is named once, not its pairs") {
  Record record;
  add_findings(record, four_hosts(), readings([](int a, int b) {
                 return a == 2 || b == 2 ? "n0: rank 2 did not answer" : "";
               }),
               {});
  CHECK(
      failed_pairs(readings([](int a, int b) { return a == 2 || b == 2 ? "gone" : ""; })).empty());
  CHECK(failed(record) == std::vector<std::string>{"n2|host n2: none of 6 transfers with it "
                                                   "worked; n0: rank 2 did not answer"});
}

TEST_CASE("a pair that fails while both ends answer others is a link") {
  Record record;
  add_findings(record, four_hosts(),
               readings([](int a, int b) { return a == 1 && b == 3 ? "n3: timeout" : ""; }), {});
  CHECK(failed(record) == std::vector<std::string>{"n1 → n3|link n1 → n3: 1 of 1 transfers "
                                                   "failed; n3: timeout"});
}

TEST_CASE("a pair that failed once of three times is measured again, and no suspect then") {
  std::vector<PairReading> all =
      readings([](int a, int b) { return a == 1 && b == 3 ? "n3: timeout" : ""; });
  CHECK(failed_pairs(all) == std::vector<HostPair>{{1, 3}});
  all.push_back({.from = 1, .to = 3, .value = 1e9});
  Record record;
  add_findings(record, four_hosts(), all, {});
  CHECK(failed(record).empty());
}

TEST_CASE("suspects are named with their NIC, side and share") {
  FleetNames names = four_hosts();
  names.rails = {"mlx5_0", "mlx5_1"};
  Located located;
  located.suspects = {{.kind = SuspectKind::nic,
                       .host = 3,
                       .rail = 1,
                       .side = Side::receive,
                       .share = 0.541,
                       .low = 7,
                       .samples = 7,
                       .confidence = 0.99999},
                      {.kind = SuspectKind::link,
                       .host = 0,
                       .rail = 0,
                       .peer = 2,
                       .share = 0.9,
                       .low = 3,
                       .samples = 3,
                       .confidence = 0.99,
                       .congestion = true}};
  Record record;
  add_findings(record, names, {}, located);
  const auto found = failed(record);
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "n3:mlx5_1|nic n3:mlx5_1: receives 54.1 % of the fleet's median; 7 of 7 samples "
        "low, confidence 100.00 %");
  CHECK(found[1].starts_with("n0:mlx5_0 → n2:mlx5_0|link n0:mlx5_0 → n2:mlx5_0: carries 90.0 %"));
  CHECK(found[1].ends_with("fine alone, slow only together with others: congestion"));
}

TEST_CASE("pairs become one metric each; failed readings are absent, not zero") {
  std::vector<PairReading> all{{.from = 0, .to = 1, .value = 2.0},
                               {.from = 0, .to = 1, .value = 4.0},
                               {.from = 1, .to = 0, .failure = "n1: timeout"}};
  Record record;
  add_pair_metrics(record, four_hosts(), all, PairMeasure::bandwidth);
  REQUIRE(record.metrics.size() == 1);
  CHECK(record.metrics[0].name == "bytes_per_second");
  CHECK(record.metrics[0].samples.summary().median == 3);
  CHECK(entity_name(record.entities[record.metrics[0].entity]) == "n0 → n1");
  CHECK(to_samples(all, PairMeasure::bandwidth).size() == 2);
  CHECK(to_samples(all, PairMeasure::latency)[0].value == 0.5);
}

TEST_CASE("units are hosts by their first rank, or ranks") {
  RankMap place{.host = "b", .hosts = {"a", "b"}, .host_of_rank = {0, 0, 1, 0, 1}};
  const auto hosts = host_units(place);
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[1].rank == 2);
  CHECK(hosts[1].name() == "b");
  const auto ranks = rank_units(place);
  REQUIRE(ranks.size() == 5);
  CHECK(ranks[3].name() == "a rank 3");
}

TEST_CASE("both directions: every round is followed by the same one turned round") {
  const auto rounds = both_directions({{{0, 1}, {2, 3}}, {{0, 2}}});
  REQUIRE(rounds.size() == 4);
  CHECK(rounds[1] == Round{{1, 0}, {3, 2}});
  CHECK(rounds[3] == Round{{2, 0}});
}
