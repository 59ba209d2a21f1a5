// What counts as a change between two campaigns: both sides of each condition.
#include "analysis/compare.h"

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// Ten samples around the middle, 0.2 % apart: their median absolute deviation is 0.5 %.
std::vector<double> around(double middle, double apart = 0.002) {
  std::vector<double> out;
  for (int i = 0; i < 10; ++i) out.push_back(middle * (1 + apart * (i - 4.5)));
  return out;
}

Campaign with(const std::vector<double>& values, Better better = Better::higher) {
  Campaign c = campaign({{"n1", 1}});
  c.profile = profile({});
  Metric& m = c.jobs[0].document->records[0].metrics[0];
  m.better = better;
  m.samples = Samples();
  for (const double v : values) m.samples.add(v);
  return c;
}

struct Compared {
  Compared(const Campaign& a, const Campaign& b)
      : before(gather_metrics(a, {})),
        after(gather_metrics(b, {})),
        found(compare_campaigns(a, before, b, after)) {}
  std::vector<MetricGroup> before, after;
  Comparison found;
};

ChangeKind kind(const Campaign& a, const Campaign& b) {
  const Compared c(a, b);
  REQUIRE(c.found.changes.size() == 1);
  return c.found.changes[0].kind;
}

}  // namespace

TEST_CASE("a median that moved is worse or better by its direction") {
  const Campaign before = with(around(100));
  CHECK(kind(before, with(around(95))) == ChangeKind::worse);
  CHECK(kind(before, with(around(105))) == ChangeKind::better);
  CHECK(kind(with(around(100), Better::lower), with(around(105), Better::lower)) ==
        ChangeKind::worse);
  CHECK(kind(before, before) == ChangeKind::same);
}

TEST_CASE("the least effect, from both sides") {
  const Campaign before = with(around(100));
  CHECK(kind(before, with(around(97.9))) == ChangeKind::worse);
  CHECK(kind(before, with(around(98.1))) == ChangeKind::same);
  // Three times the spread, 6 %, where that is more than 2 %.
  const Campaign spread = with(around(100, 0.008));
  CHECK(kind(spread, with(around(93.5, 0.008))) == ChangeKind::worse);
  CHECK(kind(spread, with(around(94.5, 0.008))) == ChangeKind::same);
}

TEST_CASE("too few samples to tell are undecided, not the same") {
  // Four against four can reach p = 2/70 at best, five against five 2/252.
  CHECK(kind(with({100, 101, 102, 103}), with({80, 81, 82, 83})) == ChangeKind::undecided);
  CHECK(kind(with({100, 101, 102, 103, 104}), with({80, 81, 82, 83, 84})) == ChangeKind::worse);
  CHECK(kind(with({100, 101, 102}), with({100, 101, 102})) == ChangeKind::same);
  CHECK(kind(with({100}), with({80})) == ChangeKind::undecided);
}

TEST_CASE("one lucky p among hundreds is undecided") {
  const auto fill = [](Campaign& c, double odd) {
    Record& r = c.jobs[0].document->records[0];
    for (int i = 0; i < 400; ++i) {
      Metric m{.name = "m" + std::to_string(i), .unit = "count"};
      const double base = i == 7 ? odd : 1.0;
      m.samples = {base, base + 0.001, base + 0.002, base + 0.003, base + 0.004};
      r.metrics.push_back(m);
    }
  };
  Campaign before = with(around(100));
  Campaign after = before;
  fill(before, 1.0);
  fill(after, 1.5);
  const Compared c(before, after);
  CHECK(c.found.count(ChangeKind::worse) + c.found.count(ChangeKind::better) == 0);
  REQUIRE(c.found.count(ChangeKind::undecided) == 1);
  CHECK(c.found.changes[0].after->metric == "m7");
}

TEST_CASE("what else changed is named") {
  Campaign before = with(around(100));
  Campaign after = before;
  CHECK(Compared(before, after).found.fingerprint.empty());
  after.profile.sha256 = "x";
  after.profile.steps[0].params["size"] = {"8G"};
  after.profile.steps.push_back({.id = "t", .case_name = "fake"});
  after.hosts = {"n2"};
  std::vector<std::string> what;
  for (const FingerprintDifference& d : Compared(before, after).found.fingerprint)
    what.push_back(d.what + ": " + d.before + " → " + d.after);
  CHECK(what == std::vector<std::string>{"profile.sha256:  → x", "hosts: 1: n1 → 1: n2",
                                         "step s: fake → fake size 8G", "step t:  → fake"});
}
