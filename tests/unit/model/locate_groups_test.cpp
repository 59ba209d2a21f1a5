#include "model/locate_groups.h"

#include <functional>

#include <doctest/doctest.h>

using namespace cb;

namespace {

// Every directed pair inside each group, three times, with a wobble of ±0.5 %.
std::vector<PairSample> inside(const UnitGroups& groups,
                               const std::function<double(int, int)>& factor) {
  std::vector<PairSample> out;
  const int units = static_cast<int>(groups.group_of.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int a = 0; a < units; ++a) {
      for (int b = 0; b < units; ++b) {
        const auto group = [&](int u) { return groups.group_of[static_cast<size_t>(u)]; };
        if (a == b || group(a) != group(b)) continue;
        const int wobble = (a * 31 + b * 17 + repeat * 7) % 11 - 5;
        out.push_back({a, b, 0, 200e9 * factor(a, b) * (1 + 0.001 * wobble)});
      }
    }
  }
  return out;
}

UnitGroups hosts_of(int hosts, int ranks) {
  UnitGroups out{.kind = SuspectKind::inside, .count = hosts};
  for (int h = 0; h < hosts; ++h)
    out.group_of.insert(out.group_of.end(), static_cast<size_t>(ranks), h);
  return out;
}

}  // namespace

TEST_CASE("equal groups have no suspect, and it is said what would have been seen") {
  const UnitGroups hosts = hosts_of(4, 8);
  const JudgedGroups found = judge_groups(hosts, inside(hosts, [](int, int) { return 1; }));
  CHECK(found.suspects.empty());
  CHECK(found.slow_units.empty());
  CHECK(found.least_detectable == doctest::Approx(0.025));
  CHECK(found.noise < 0.01);
}

TEST_CASE("a host whose ranks are slow among themselves is named, on both sides of the tolerance") {
  const UnitGroups hosts = hosts_of(4, 2);
  for (const double share : {0.96, 0.98}) {
    const JudgedGroups found =
        judge_groups(hosts, inside(hosts, [&](int a, int) { return a / 2 == 2 ? share : 1; }));
    REQUIRE(found.suspects.size() == (share < 0.975 ? 1 : 0));
    CHECK(found.slow_units.empty());
    if (found.suspects.empty()) continue;
    CHECK(found.suspects[0].kind == SuspectKind::inside);
    CHECK(found.suspects[0].host == 2);
    CHECK(found.suspects[0].share == doctest::Approx(share).epsilon(0.01));
    CHECK(found.suspects[0].low == found.suspects[0].samples);
  }
}

TEST_CASE("one slow rank of a host is named, not the host") {
  const UnitGroups hosts = hosts_of(3, 8);
  const JudgedGroups found =
      judge_groups(hosts, inside(hosts, [](int a, int b) { return a == 13 || b == 13 ? 0.5 : 1; }));
  CHECK(found.suspects.empty());
  REQUIRE(found.slow_units.size() == 1);
  CHECK(found.slow_units[0].host == 13);
  CHECK(found.slow_units[0].share == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("a slow rail is named, and only the most of its pairs make it one") {
  // Six hosts of four ranks; a rail is the ranks with one place.
  UnitGroups rails{.kind = SuspectKind::rail, .count = 4};
  for (int unit = 0; unit < 24; ++unit) rails.group_of.push_back(unit % 4);
  const auto all = inside(rails, [](int a, int) { return a % 4 == 3 ? 0.7 : 1; });
  const JudgedGroups found = judge_groups(rails, all);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::rail);
  CHECK(found.suspects[0].rail == 3);
  // One host's NIC of the rail is in a third of the rail's pairs.
  const auto one = inside(rails, [](int a, int b) { return a == 7 || b == 7 ? 0.7 : 1; });
  CHECK(judge_groups(rails, one).suspects.empty());
}

TEST_CASE("what cannot be compared has no suspect and could not have seen any") {
  const UnitGroups two = hosts_of(2, 4);
  const JudgedGroups found =
      judge_groups(two, inside(two, [](int a, int) { return a < 4 ? 0.5 : 1; }));
  CHECK(found.suspects.empty());
  CHECK(found.least_detectable == 1);
  const UnitGroups three = hosts_of(3, 2);
  auto samples = inside(three, [](int a, int) { return a < 2 ? 0.5 : 1; });
  std::erase_if(samples, [](const PairSample& s) { return s.from >= 4; });  // the third is silent
  CHECK(judge_groups(three, samples).suspects.empty());
  CHECK(judge_groups(three, {}).least_detectable == 1);
}

TEST_CASE("three quarters of a group's pairs must be low, and how many are low is said") {
  const UnitGroups hosts = hosts_of(3, 2);
  const auto with_low = [&](int low) {
    std::vector<PairSample> samples;
    for (int group = 0; group < 3; ++group) {
      for (int i = 0; i < 20; ++i)
        samples.push_back({2 * group, 2 * group + 1, 0, group == 2 && i < low ? 90e9 : 100e9});
    }
    return judge_groups(hosts, samples).suspects;
  };
  CHECK(with_low(14).empty());
  REQUIRE(with_low(15).size() == 1);
  CHECK(with_low(15)[0].host == 2);
  CHECK(with_low(15)[0].low == 15);
  CHECK(with_low(15)[0].samples == 20);
  CHECK(with_low(15)[0].share == doctest::Approx(0.9));
}
