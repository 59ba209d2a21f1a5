// Parts of one host against one another, and a fleet that is the GPUs of a single node.
#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

Campaign of_parts(const std::vector<std::pair<std::string, std::vector<double>>>& hosts,
                  const std::string& unit = "celsius") {
  Campaign c;
  for (const auto& [host, values] : hosts) {
    std::vector<std::pair<Entity, double>> parts;
    for (size_t i = 0; i < values.size(); ++i)
      parts.push_back({{host, "gpu", std::to_string(i)}, values[i]});
    Record r = record(parts);
    for (Metric& m : r.metrics) m.unit = unit;
    c.hosts.push_back(host);
    c.inventories.push_back({.host = host});
    c.jobs.push_back(done(host, document({host}, {std::move(r)})));
  }
  return c;
}

Profile asking(MetricRule rule) {
  rule.metric = "bytes_per_second";
  return test::profile({metric_criterion(std::move(rule))});
}

}  // namespace

TEST_CASE("the spread within a host passes at the limit and fails beyond, and names both parts") {
  const Campaign c = of_parts({{"n1", {60, 62, 65}}, {"n2", {70, 71}}});
  const Profile at = asking({.max_spread_of_host = 5});
  const CriterionVerdict v = verdict(c, at);
  CHECK(v.state == State::pass);
  CHECK(v.value == 5);  // of n1; the two hosts are not compared with each other
  CHECK(v.worst->host == "n1");
  CHECK(v.entities == 2);
  const Profile beyond = asking({.max_spread_of_host = 4.9});
  CHECK(verdict(c, beyond).state == State::fail);
  CHECK(verdict(c, beyond).reason ==
        "n1:2 lies 5.00 °C above n1:0, at most 4.90 °C is required; see records/001-s.json");
}

TEST_CASE("the ratio within a host passes at the limit and fails beyond") {
  const Campaign c = of_parts({{"n1", {100, 110}}}, "bytes_per_second");
  const Profile at = asking({.max_ratio_of_host = 1.1});
  CHECK(verdict(c, at).state == State::pass);
  const Profile beyond = asking({.max_ratio_of_host = 1.09});
  CHECK(verdict(c, beyond).state == State::fail);
  CHECK(verdict(c, beyond).unit == "×");
  CHECK(verdict(c, beyond).reason.find("n1:1 has 1.1 times the value of n1:0") == 0);
}

TEST_CASE("a single part has nothing to differ from: incomplete") {
  const Campaign c = of_parts({{"n1", {60, 61}}, {"n2", {60}}});
  const Profile p = asking({.max_spread_of_host = 5});
  CHECK(verdict(c, p).state == State::incomplete);
  CHECK(verdict(c, p).reason.find("n2: 1 measured for bytes_per_second, and two are needed") == 0);
}

TEST_CASE("the eight GPUs of one node are a fleet: the one behind fails by name") {
  std::vector<double> values(8, 100);
  values[5] = 89;
  const Campaign c = of_parts({{"n1", values}}, "flops_per_second");
  const Profile p = asking({.min_of_fleet = 0.9});
  CHECK(verdict(c, p).state == State::fail);
  CHECK(verdict(c, p).worst->id == "5");
  values[5] = 90;
  CHECK(verdict(of_parts({{"n1", values}}, "flops_per_second"), p).state == State::pass);
}

TEST_CASE("of several points asked for each must have been measured") {
  Campaign c = campaign({{"n1", 100}});
  c.jobs[0].document->records.push_back(record({{{"n1", "rank", "0"}, 100}}, {}, 4096));
  const auto at = [](std::vector<std::string> sizes) {
    return test::profile({metric_criterion(
        {.metric = "bytes_per_second", .at = {{"size", std::move(sizes)}}, .min = 50})});
  };
  const Profile both = at({"1K", "4K"}), three = at({"1K", "4K", "16K"});
  CHECK(verdict(c, both).state == State::pass);
  CHECK(verdict(c, three).state == State::incomplete);
  CHECK(verdict(c, three).reason.find("has no record @ size 16K") != std::string::npos);
}

TEST_CASE("a profile most of which does not apply accepts nothing") {
  Criterion applies = metric_criterion({.metric = "bytes_per_second", .min = 50});
  Criterion other = applies, third = applies;
  other.id = "o";
  third.id = "t";
  other.needs = third.needs = {{"gpu", 8}};
  const Campaign c = campaign({{"n1", 100}});
  const Profile half = test::profile({applies, other}),
                most = test::profile({applies, other, third});
  CHECK(judge(c, half, {}, kToday).overall() == State::pass);
  const Judgement j = judge(c, most, {}, kToday);
  CHECK(j.overall() == State::incomplete);
  CHECK(exit_code(j) == ExitCode::incomplete);
  CHECK(say(Lang::en, *j.too_few_apply()) ==
        "1 of 3 criteria that can fail apply to these hosts, and at least half must: use a profile "
        "that fits them.");
}

TEST_CASE("only parts of one host with a figure of this name are compared") {
  Campaign c = of_parts({{"n1", {60, 62}}});
  Record& r = c.jobs[0].document->records[0];
  const auto add = [&](const std::string& name, const Entity& e, double value) {
    Metric m{.name = name, .unit = "celsius"};
    m.entity = r.entity(e);
    m.samples.add(value);
    r.metrics.push_back(m);
  };
  add("another", {"n1", "gpu", "1"}, 99);
  add("bytes_per_second", {"", "gpu", "1"}, 98);
  add("bytes_per_second", {"", "cluster", ""}, 97);
  add("bytes_per_second", {"n1", "gpu", "0", "n1:1"}, 96);
  const Profile at = asking({.max_spread_of_host = 2});
  CHECK(verdict(c, at).value == 2);
}
