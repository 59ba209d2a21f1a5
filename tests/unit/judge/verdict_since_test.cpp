// Running totals: what counts is how much they have grown since an earlier step.
#include "judge/verdict_since.h"

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// Two hosts whose counter stood at `before`, and at `after` in the later step.
Campaign grown(std::pair<double, double> before, std::pair<double, double> after) {
  Campaign c = campaign({{"n1", after.first}, {"n2", after.second}});
  Campaign earlier = campaign({{"n1", before.first}, {"n2", before.second}});
  for (Job& job : earlier.jobs) {
    job.step = "first";
    c.jobs.push_back(job);
  }
  return c;
}

Profile growth(double max) {
  Profile p =
      profile({metric_criterion({.metric = "bytes_per_second", .max = max, .since = "first"})});
  p.steps.insert(p.steps.begin(), {.id = "first", .case_name = "fake"});
  return p;
}

}  // namespace

TEST_CASE("a running total is judged by its growth, from both sides") {
  CHECK(verdict(grown({1000, 7}, {1080, 87}), growth(80)).state == State::pass);
  CHECK(verdict(grown({1000, 7}, {1000, 7}), growth(0)).state == State::pass);  // no growth is one
  const CriterionVerdict v = verdict(grown({1000, 7}, {1080, 88}), growth(80));
  CHECK(v.state == State::fail);
  CHECK(v.value == 81.0);
  CHECK(entity_name(*v.worst) == "n2:0");
}

TEST_CASE("a total that the earlier step does not have, or that was reset, is no growth of 0") {
  Campaign c = grown({5, 5}, {5, 5});
  c.jobs.pop_back();  // n2's earlier job
  const CriterionVerdict v = verdict(c, growth(0));
  CHECK(v.state == State::incomplete);
  CHECK(v.reason.find("not known from step first") != std::string::npos);
  const CriterionVerdict reset = verdict(grown({5, 9}, {5, 0}), growth(0));
  CHECK(reset.state == State::incomplete);
  CHECK(reset.reason.find("reset") != std::string::npos);
}
