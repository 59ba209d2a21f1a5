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

namespace {

// How many of these are outliers, and the z of the first, 0 where there is none.
std::pair<size_t, double> far_out(const std::vector<double>& values,
                                  Better better = Better::higher) {
  Campaign c = fleet(values);
  for (Job& job : c.jobs) job.document->records[0].metrics[0].better = better;
  const auto groups = gather_metrics(c, {});
  const auto found = find_outliers(groups);
  return {found.size(), found.empty() ? 0 : found[0].z};
}

// All the same but one.
std::vector<double> one_apart(size_t n, double same, double other) {
  std::vector<double> out(n, same);
  out[n / 2] = other;
  return out;
}

}  // namespace

TEST_CASE("four robust deviations behind are an outlier, three are not: the limit is 3.5") {
  // The spread is its floor, 0.5 % of 100: z = 0.6745 × behind / 0.5. Of eight parts p = 0.00034 at
  // z = 3.4 would hold at the rate of 1 %.
  CHECK(far_out(one_apart(8, 100, 100 - 3.0 / 1.349)).first == 0);
  CHECK(far_out(one_apart(8, 100, 100 - 3.45 / 1.349)).first == 0);
  CHECK(far_out(one_apart(8, 100, 100 - 3.55 / 1.349)).first == 1);
  const auto found = far_out(one_apart(8, 100, 100 - 4.0 / 1.349));
  CHECK(found.first == 1);
  CHECK(found.second == doctest::Approx(4));
}

TEST_CASE("a part at z = 4 is an outlier among 300 and none among 330, where chance makes such") {
  // p = 3.167e-5: times 300 it is 0.0095, times 330 it is 0.0105.
  CHECK(far_out(one_apart(300, 100, 100 - 4.0 / 1.349)).first == 1);
  CHECK(far_out(one_apart(330, 100, 100 - 4.0 / 1.349)).first == 0);
}

TEST_CASE("behind is above the median where less is better") {
  const auto late = far_out(one_apart(20, 100, 107), Better::lower);
  CHECK(late.first == 1);
  CHECK(late.second == doctest::Approx(9.443));
  CHECK(far_out(one_apart(20, 100, 93), Better::lower).first == 0);
}

TEST_CASE("the spread of the fleet counts where it is more than its floor") {
  std::vector<double> values{97, 98, 99, 100, 100, 101, 102, 103, 100, 60};
  // Median 100, deviations 0 0 0 1 1 2 2 3 3 40: their median is 1.5.
  CHECK(far_out(values).second == doctest::Approx(0.6745 * 40 / 1.5));
}

TEST_CASE("of parts that all measured nothing none is behind") {
  CHECK(far_out(std::vector<double>(20, 0.0)).first == 0);
  // Nor do they make a finding among others less sure: q = 8 × p of z = 4.
  const Campaign zeros = fleet(std::vector<double>(20, 0.0));
  const Campaign slow = fleet(one_apart(8, 100, 100 - 4.0 / 1.349));
  auto together = gather_metrics(zeros, {});
  for (MetricGroup& g : gather_metrics(slow, {})) together.push_back(std::move(g));
  REQUIRE(find_outliers(together).size() == 1);
  CHECK(find_outliers(together)[0].q == doctest::Approx(8 * 3.167e-5).epsilon(1e-3));
  // A median of 0 has no share that a part could be behind.
  Campaign c = fleet({-1, 1, -1, 1, -1, 1, -1, 1, 0, 0, 90});
  for (Job& job : c.jobs) job.document->records[0].metrics[0].better = Better::lower;
  const auto groups = gather_metrics(c, {});
  const auto found = find_outliers(groups);
  REQUIRE(found.size() == 1);
  CHECK(found[0].behind == 0);
  CHECK(found[0].z == doctest::Approx(0.6745 * 90));
}
