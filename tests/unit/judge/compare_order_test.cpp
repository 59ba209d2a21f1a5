// In which order changes are shown: what has to be looked at stands first, whatever its size.
#include <doctest/doctest.h>

#include "judge/compare.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// A metric with this middle and so many samples, `apart` from one to the next as a share of it.
struct Moved {
  std::string name;
  double before, after;
  int samples = 10;
  double apart = 0.0002;
};

Campaign with_moved(const std::vector<Moved>& all, bool later) {
  Campaign c = campaign({{"n1", 1}});
  c.profile = profile({});
  Record& r = c.jobs[0].document->records[0];
  r.metrics.clear();
  for (const Moved& m : all) {
    Metric metric{.name = m.name, .unit = "bytes_per_second"};
    for (int i = 0; i < m.samples; ++i)
      metric.samples.add((later ? m.after : m.before) *
                         (1 + m.apart * (i - (m.samples - 1) / 2.0)));
    r.metrics.push_back(metric);
  }
  return c;
}

// "name kind" of each change, as ordered.
std::vector<std::string> order_of(const std::vector<Moved>& all) {
  const Campaign a = with_moved(all, false), b = with_moved(all, true);
  const auto before = gather_metrics(a, {}), after = gather_metrics(b, {});
  std::vector<std::string> out;
  for (const Change& c : compare_campaigns({a, before, {}}, {b, after, {}}).changes)
    out.push_back(c.after->metric + " " + change_name(c.kind));
  return out;
}

}  // namespace

TEST_CASE("worse comes first, then what is undecided, then better, then the same") {
  // Each of a later kind has moved by more than all of the earlier kinds.
  CHECK(order_of({{"a", 100, 160, 10, 0.3}, {"b", 100, 150}, {"c", 100, 70, 2}, {"d", 100, 80}}) ==
        std::vector<std::string>{"d worse", "c undecided", "b better", "a same"});
  CHECK(order_of({{"d", 100, 80}, {"c", 100, 70, 2}, {"b", 100, 150}, {"a", 100, 160, 10, 0.3}}) ==
        std::vector<std::string>{"d worse", "c undecided", "b better", "a same"});
}

TEST_CASE(
    "of criteria the worse come first, then the undecided, whatever their place in the profile") {
  const auto judged_at = [](double value, double limit_of_undecided) {
    Campaign c = campaign({{"n1", value}});
    std::vector<Criterion> criteria;
    for (const auto& [id, limit] :
         {std::pair("better", 150.0), {"undecided", limit_of_undecided}}) {
      criteria.push_back(metric_criterion({.metric = "bytes_per_second", .min = limit}));
      criteria.back().id = id;
    }
    criteria.push_back(metric_criterion({.metric = "bytes_per_second", .max = 150}));
    criteria.back().id = "worse";
    c.profile = profile(std::move(criteria));
    c.profile.sha256 = std::to_string(limit_of_undecided);
    c.profile.resolved = R"({"criteria": [{"id": "undecided", "min": )" + c.profile.sha256 + "}]}";
    return c;
  };
  const Campaign a = judged_at(100, 10), b = judged_at(200, 20);
  const auto before = gather_metrics(a, {}), after = gather_metrics(b, {});
  const Judgement then = judge(a, a.profile, {}, kToday), now = judge(b, b.profile, {}, kToday);
  std::vector<std::string> order;
  for (const VerdictChange& c : compare_campaigns({a, before, then}, {b, after, now}).verdicts)
    order.push_back(c.criterion);
  CHECK(order == std::vector<std::string>{"worse", "undecided", "better"});
}

TEST_CASE("of one kind the larger change comes first, up or down") {
  CHECK(order_of({{"a", 100, 95}, {"b", 100, 60}, {"c", 100, 80}}) ==
        std::vector<std::string>{"b worse", "c worse", "a worse"});
  CHECK(order_of({{"a", 100, 130, 2}, {"b", 100, 50, 2}, {"c", 100, 120, 2}}) ==
        std::vector<std::string>{"b undecided", "a undecided", "c undecided"});
  CHECK(order_of({{"a", 100, 90}, {"b", 100, 90}}) ==
        std::vector<std::string>{"a worse", "b worse"});  // equal ones as measured
}
