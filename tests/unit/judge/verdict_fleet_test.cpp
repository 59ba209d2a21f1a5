#include "judge/verdict_fleet.h"

#include <cmath>

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

Profile fleet(std::optional<double> min, std::optional<double> max = {}) {
  return profile(
      {metric_criterion({.metric = "bytes_per_second", .min_of_fleet = min, .max_of_fleet = max})});
}

}  // namespace

TEST_CASE("a minimum relative to the fleet's median, from both sides") {
  const Profile p = fleet(0.9);
  CHECK(verdict(campaign({{"n1", 90}, {"n2", 100}, {"n3", 100}}), p).state == State::pass);
  const CriterionVerdict v =
      verdict(campaign({{"n1", std::nextafter(90, 0)}, {"n2", 100}, {"n3", 110}}), p);
  CHECK(v.state == State::fail);
  CHECK(v.limit == 90.0);
  CHECK(entity_name(*v.worst) == "n1:0");
  CHECK(v.reason.find("a share of the median of 3 alike, 100 B/s") != std::string::npos);
}

TEST_CASE("a maximum relative to the fleet's median, from both sides") {
  const Profile p = fleet({}, 1.25);
  CHECK(verdict(campaign({{"n1", 125}, {"n2", 100}, {"n3", 100}}), p).state == State::pass);
  CHECK(verdict(campaign({{"n1", std::nextafter(125, 1e9)}, {"n2", 100}, {"n3", 99}}), p).state ==
        State::fail);
}

TEST_CASE("two have no middle that one could be behind: not measured") {
  const CriterionVerdict v = verdict(campaign({{"n1", 100}, {"n2", 10}}), fleet(0.9));
  CHECK(v.state == State::incomplete);
  CHECK(v.reason.find("2 measured, and at least 3 are needed") != std::string::npos);
}

TEST_CASE("each point of parameters and each kind of part has a median of its own") {
  Campaign c = campaign({{"n1", 100}, {"n2", 100}, {"n3", 100}});
  for (Job& job : c.jobs)
    job.document->records.push_back(record({{{job.host, "rank", "0"}, 10}}, {}, 4096));
  CHECK(verdict(c, fleet(0.9)).state == State::pass);
  c.jobs[1].document->records[1].metrics[0].samples = Samples{8};
  CHECK(verdict(c, fleet(0.9)).state == State::fail);
}

TEST_CASE("the whole fleet being slow is not seen by it: that takes an absolute limit as well") {
  const Campaign slow = campaign({{"n1", 1}, {"n2", 1}, {"n3", 1}});
  CHECK(verdict(slow, fleet(0.9)).state == State::pass);
  const Profile both =
      profile({metric_criterion({.metric = "bytes_per_second", .min = 50, .min_of_fleet = 0.9})});
  const CriterionVerdict v = verdict(slow, both);
  CHECK(v.state == State::fail);
  CHECK(v.limit == 50.0);
}

TEST_CASE("the stricter of both limits decides") {
  const Profile both =
      profile({metric_criterion({.metric = "bytes_per_second", .min = 50, .min_of_fleet = 0.9})});
  const CriterionVerdict v = verdict(campaign({{"n1", 80}, {"n2", 100}, {"n3", 100}}), both);
  CHECK(v.state == State::fail);
  CHECK(v.limit == 90.0);
}

TEST_CASE("a figure of all ranks of a job on one host is that host's") {
  Campaign c;
  for (const auto& [host, value] : {std::pair{"n1", 80.0}, {"n2", 100.0}, {"n3", 100.0}}) {
    c.hosts.emplace_back(host);
    c.inventories.push_back({.host = host});
    c.jobs.push_back(done(host, document({host}, {record({{{"", "cluster", ""}, value}})})));
  }
  const CriterionVerdict v = verdict(c, fleet(0.9));
  CHECK(v.state == State::fail);
  CHECK(entity_name(*v.worst) == "n1");
  CHECK(v.reason.find("n1") != std::string::npos);
  CHECK(v.reason.find("cluster") == std::string::npos);
  // A job on all hosts stays the cluster's.
  Campaign whole = campaign({{"n1", 1}, {"n2", 1}});
  whole.jobs = {done("", document({"n1", "n2"}, {record({{{"", "cluster", ""}, 5}})}))};
  const Profile ten = profile({metric_criterion({.metric = "bytes_per_second", .min = 10})});
  CHECK(entity_name(*verdict(whole, ten).worst) == "cluster");
}
