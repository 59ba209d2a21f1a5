#include "judge/outliers.h"

#include <doctest/doctest.h>

#include "judge/compare.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

// One GPU per value on as many hosts.
Campaign fleet(const std::vector<double>& values) {
  std::vector<std::pair<std::string, double>> hosts;
  for (size_t i = 0; i < values.size(); ++i) hosts.emplace_back("n" + std::to_string(i), values[i]);
  Campaign c = campaign(hosts);
  c.profile = profile({});
  return c;
}

std::vector<double> healthy(size_t n) {
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) out.push_back(100 + 0.2 * (static_cast<double>(i % 5) - 2));
  return out;
}

Campaign with_samples(double around, int n, double step) {
  Campaign c = campaign({{"a", 1}});
  c.profile = profile({});
  Samples samples;
  for (int i = 0; i < n; ++i) samples.add(around + step * (i % 7 - 3));
  c.jobs[0].document->records[0].metrics[0].samples = samples;
  return c;
}

ChangeKind change(const Campaign& before, const Campaign& after) {
  const auto a = gather_metrics(before, {});
  const auto b = gather_metrics(after, {});
  return compare_campaigns({before, a, {}}, {after, b, {}}).changes.at(0).kind;
}

std::vector<FingerprintDifference> differences(const Campaign& a, const Campaign& b) {
  return compare_campaigns({a, {}, {}}, {b, {}, {}}).fingerprint;
}

}  // namespace

TEST_CASE("a slow part is found, and nobody of a healthy fleet") {
  std::vector<double> values = healthy(1000);
  CHECK(find_outliers(gather_metrics(fleet(values), {})).empty());
  values[17] = 93;
  const Campaign c = fleet(values);
  const auto groups = gather_metrics(c, {});
  const auto found = find_outliers(groups);
  REQUIRE(found.size() == 1);
  CHECK(found[0].group->values[found[0].value].entity->host == "n17");
  CHECK(found[0].behind == doctest::Approx(0.07));
  // MAD 0.2 is below the floor of 0.5: z = 0.6745 × 7 / 0.5
  CHECK(found[0].z == doctest::Approx(9.443));
}

TEST_CASE("outliers come the furthest first, and the first and the last part may be one") {
  std::vector<double> values = healthy(100);
  values.front() = 92;
  values.back() = 90;
  const Campaign c = fleet(values);
  const auto groups = gather_metrics(c, {});
  const auto found = find_outliers(groups);
  REQUIRE(found.size() == 2);
  CHECK(found[0].group->values[found[0].value].entity->host == "n99");
  CHECK(found[1].group->values[found[1].value].entity->host == "n0");
  CHECK(found[0].q < found[1].q);
  CHECK(found[1].q < 0.01);
}

TEST_CASE("faster than the others is no outlier, and seven are no peers") {
  std::vector<double> values = healthy(100);
  values[3] = 120;
  CHECK(find_outliers(gather_metrics(fleet(values), {})).empty());
  CHECK(find_outliers(gather_metrics(fleet({100, 100, 100, 100, 100, 100, 50}), {})).empty());
  CHECK(find_outliers(gather_metrics(fleet({100, 100, 100, 100, 100, 100, 100, 50}), {})).size() ==
        1);
}

TEST_CASE("values adjusted for the rate of false discoveries") {
  // The example of Benjamini and Hochberg's definition: p × m / rank, made monotone from above.
  const auto q = adjusted_for_discovery({0.01, 0.04, 0.03, 0.005});
  CHECK(q[3] == doctest::Approx(0.02));
  CHECK(q[0] == doctest::Approx(0.02));
  CHECK(q[2] == doctest::Approx(0.04));
  CHECK(q[1] == doctest::Approx(0.04));
  CHECK(adjusted_for_discovery({}).empty());
}

TEST_CASE("Mann-Whitney: known values") {
  // scipy.stats.mannwhitneyu([1,2,3,4,5], [6,7,8,9,10], method="asymptotic") → 0.01218578
  CHECK(mann_whitney({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}) ==
        doctest::Approx(0.01218578).epsilon(1e-4));
  CHECK(mann_whitney({1, 2, 3}, {1, 2, 3}) == doctest::Approx(1));
  CHECK(mann_whitney({5, 5, 5}, {5, 5}) == 1);
  CHECK(mann_whitney({}, {1}) == 1);
}

TEST_CASE("a change needs significance and size") {
  const Campaign base = with_samples(100, 30, 0.1);
  CHECK(change(base, with_samples(100, 30, 0.1)) == ChangeKind::same);
  CHECK(change(base, with_samples(98.5, 30, 0.1)) == ChangeKind::same);  // significant, but 1.5 %
  CHECK(change(base, with_samples(95, 30, 0.1)) == ChangeKind::worse);
  CHECK(change(base, with_samples(105, 30, 0.1)) == ChangeKind::better);
  CHECK(change(with_samples(100, 2, 0), with_samples(90, 2, 0)) == ChangeKind::undecided);
  CHECK(change(with_samples(100, 30, 5), with_samples(96, 30, 5)) == ChangeKind::same);  // noise
}

TEST_CASE("what differs between the campaigns is named") {
  Campaign a = with_samples(100, 5, 0.1), b = a;
  CHECK(differences(a, b).empty());
  a.inventories[0].parts = {{"driver", "nvidia", {{"version", "570.1"}}, {}}};
  b.inventories[0].parts = {{"driver", "nvidia", {{"version", "570.2"}}, {}}};
  b.tool.version = "0.2.0";
  const auto found = differences(a, b);
  REQUIRE(found.size() == 2);
  CHECK(found[0].what == "tool.version");
  CHECK(found[1].what == "driver.version");
  CHECK(found[1].before == "570.1");
}

TEST_CASE("Mann and Whitney's p with ties and of many samples, by the formula with continuity") {
  // U = 50 of 400, variance 1365.385; U = 72 of 256, variance 668.903 for five groups of ties.
  std::vector<double> low, high;
  for (int i = 1; i <= 20; ++i) low.push_back(i), high.push_back(i + 10);
  CHECK(mann_whitney(low, high) == doctest::Approx(5.21255e-05).epsilon(1e-5));
  const std::vector<double> a{1, 1, 2, 2, 3, 3, 4, 4, 1, 1, 2, 2, 3, 3, 4, 4};
  const std::vector<double> b{2, 2, 3, 3, 4, 4, 5, 5, 2, 2, 3, 3, 4, 4, 5, 5};
  CHECK(mann_whitney(a, b) == doctest::Approx(0.0318802).epsilon(1e-5));
  CHECK(mann_whitney(b, a) == doctest::Approx(0.0318802).epsilon(1e-5));
  CHECK(mann_whitney({1}, {}) == 1);
}
