// The parts of the locator by themselves: exact scores, and both sides of what makes an uplink or a
// link.
#include <cmath>

#include <doctest/doctest.h>

#include "model/locate_links.h"
#include "model/locate_uplinks.h"

using namespace cb;

namespace {

constexpr double kQuiet = 1e-4;  // noise that moves nothing

locating::Score score_of(std::vector<float> values, double tolerance = 0.025) {
  return locating::Judge({.tolerance = tolerance}, kQuiet).score(values);
}

double confidence_of(double share, size_t n, double noise) {
  return locating::Judge({}, noise)
      .suspect(SuspectKind::host, {.share = share, .low = n, .n = n})
      .confidence;
}

void add_samples(std::vector<locating::Sample>& to, int from, int dest, int times, float x) {
  for (int i = 0; i < times; ++i) to.push_back({from, dest, 0, x, false});
}

// Four hosts on leaf 0, each with four samples to leaf 1, on which nothing was measured inside.
struct FourHosts {
  explicit FourHosts(int local = 3) { add_samples(samples, 0, 1, local, 1); }
  // Of the four samples of a host so many are at a half.
  FourHosts& host(int h, int slow) {
    add_samples(samples, h, 4 + h, slow, 0.5F);
    add_samples(samples, h, 4 + h, 4 - slow, 1);
    return *this;
  }
  std::vector<Suspect> found() {
    return locating::find_uplinks(fleet, locating::Judge({}, kQuiet), samples);
  }

  FleetShape fleet{.hosts = 9, .rails = 1, .leaf = {0, 0, 0, 0, 1, 1, 1, 1, -1}};
  std::vector<locating::Sample> samples;
};

// The links found among samples of one pair, on rail 0 of two hosts.
locating::FoundLinks links_of(const std::vector<float>& values, double noise = kQuiet) {
  std::vector<locating::Sample> samples;
  for (const float x : values) samples.push_back({0, 1, 0, x, false});
  return locating::find_links({.hosts = 2, .rails = 1}, locating::Judge({}, noise), samples,
                              {false, false});
}

bool nothing(const locating::FoundLinks& found) {
  return found.suspects.empty() && found.retest.empty();
}

}  // namespace

TEST_CASE("the middle of an odd and of an even number of values, and their spread") {
  std::vector<float> odd{3, 1, 2}, even{4, 1, 3, 2}, none, deviations{-1, 3, -2};
  CHECK(locating::middle(odd) == 2);
  CHECK(locating::middle(even) == 2.5);
  CHECK(locating::robust_deviation(deviations) == doctest::Approx(2 * 1.4826));
  CHECK(locating::robust_deviation(none) == 0);
}

TEST_CASE("the score of samples: their median, and how many are below the tolerance") {
  CHECK(score_of({}).share == 1);
  CHECK(score_of({}).n == 0);
  const locating::Score s = score_of({0.25F, 0.5F, 0.75F, 2}, 0.5);
  CHECK(s.share == 0.625);
  CHECK(s.low == 1);  // one half is within a tolerance of one half
  CHECK(s.n == 4);
}

TEST_CASE("slow is below the tolerance and below the noise, of three samples and more") {
  const locating::Judge wide({.tolerance = 0.5, .sigmas = 5}, kQuiet);
  CHECK_FALSE(wide.is_slow({.share = 0.5, .low = 0, .n = 3}));
  CHECK(wide.is_slow({.share = std::nextafter(0.5, 0), .low = 0, .n = 3}));
  CHECK_FALSE(wide.is_slow({.share = 0.1, .low = 2, .n = 2}));
  // 5 × 1.2533 × 0.01 / √4 = 0.0313 is more than a tolerance of 0.025.
  const locating::Judge noisy({}, 0.01);
  CHECK(noisy.noise_bound(4) == doctest::Approx(0.0313325));
  CHECK(noisy.noise_bound(1) == doctest::Approx(0.062665));
  CHECK(noisy.noise_bound(0) == noisy.noise_bound(1));
  CHECK_FALSE(noisy.is_slow({.share = 0.969, .low = 4, .n = 4}));
  CHECK(noisy.is_slow({.share = 0.968, .low = 4, .n = 4}));
}

TEST_CASE("the confidence is what a normal distribution has below the share's z, from 0 to 1") {
  // z = 0.1 / (1.2533 × 0.1 / √4) = 1.59579; Φ(1.59579) = 0.944732.
  CHECK(confidence_of(0.9, 4, 0.1) == doctest::Approx(0.944732).epsilon(1e-5));
  CHECK(confidence_of(1.1, 4, 0.1) == doctest::Approx(1 - 0.944732).epsilon(1e-5));
  CHECK(confidence_of(1, 4, 0.1) == 0.5);
  CHECK(confidence_of(0, 1000, kQuiet) == 1);
  CHECK(confidence_of(9, 1000, kQuiet) == 0);
  const Suspect s = locating::Judge({}, 0.1).suspect(SuspectKind::nic, {0.9, 3, 4});
  CHECK(s.kind == SuspectKind::nic);
  CHECK(s.share == 0.9);
  CHECK(s.low == 3);
  CHECK(s.samples == 4);
}

TEST_CASE("what was measured alone has its own level from three sound samples on") {
  const FleetShape fleet{.hosts = 4, .rails = 1};
  std::vector<PairSample> samples;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      if (a != b) samples.push_back({a, b, 0, a == 3 || b == 3 ? 50.0 : 100.0});
    }
  }
  const auto alone_as = [&](int sound) {
    std::vector<PairSample> all = samples;
    all.push_back({0, 3, 0, 75, true});
    for (int i = 0; i < sound; ++i) all.push_back({0, 1, 0, 150, true});
    const locating::Levelled out = locating::divide_by_level(fleet, all, {});
    REQUIRE(out.samples.size() == all.size());
    CHECK(out.samples[0].x == 1);
    CHECK(out.samples[2].x == 0.5F);
    CHECK(out.samples[12].alone);
    return out.samples[12].x;
  };
  CHECK(alone_as(2) == 0.75F);
  CHECK(alone_as(3) == 0.5F);
  for (PairSample& s : samples) s.value = 0;
  CHECK(locating::divide_by_level(fleet, samples, {}).samples.empty());
}

TEST_CASE("an uplink is slow where three of four of a leaf's hosts are, not where two are") {
  const auto three = FourHosts().host(0, 4).host(1, 4).host(2, 4).host(3, 0).found();
  REQUIRE(three.size() == 1);
  CHECK(three[0].kind == SuspectKind::uplink);
  CHECK(three[0].leaf == 0);
  CHECK(three[0].peer_leaf == 1);
  CHECK(three[0].share == 0.5);
  CHECK(three[0].low == 12);
  CHECK(three[0].samples == 16);
  // A sample less, and less than three quarters of what leaves the leaf is slow.
  CHECK(FourHosts().host(0, 4).host(1, 4).host(2, 3).host(3, 0).found().empty());
  CHECK(FourHosts().host(0, 4).host(1, 4).host(2, 0).host(3, 0).found().empty());
}

TEST_CASE("one host with most of a leaf's samples is not its uplink, however slow it is") {
  FourHosts few;
  add_samples(few.samples, 0, 4, 9, 0.5F);
  add_samples(few.samples, 1, 5, 1, 1);
  CHECK(few.found().empty());  // 9 of 10 samples, but 1 of 2 hosts
  FourHosts one;
  add_samples(one.samples, 0, 4, 9, 0.5F);
  CHECK(one.found().empty());  // nobody else of the leaf was measured to the outside
  add_samples(few.samples, 1, 5, 2, 0.5F);
  CHECK(few.found().size() == 1);
}

TEST_CASE("an uplink needs three samples that show that the leaf itself is fine") {
  const auto with_local = [](int local) {
    return FourHosts(local).host(0, 4).host(1, 4).host(2, 4).host(3, 4).found().size();
  };
  CHECK(with_local(2) == 0);
  CHECK(with_local(3) == 1);
}

TEST_CASE(
    "a slow uplink explains what crosses it; what was measured alone or elsewhere is left out") {
  FourHosts c;
  c.host(0, 4).host(1, 4).host(2, 4).host(3, 4);
  const size_t crossing = c.samples.size();
  add_samples(c.samples, 0, 8, 50, 1);  // to a host of which nobody knows the leaf
  for (int i = 0; i < 50; ++i) c.samples.push_back({0, 4, 0, 1, true});
  const auto found = c.found();
  REQUIRE(found.size() == 1);
  CHECK(found[0].samples == 16);
  for (size_t i = 0; i < crossing + 50; ++i)
    CHECK(c.samples[i].explained == (i >= 3 && i < crossing));
}

TEST_CASE("a link is slow where its median is beyond the noise and more than half of it is low") {
  const locating::FoundLinks found = links_of({0.5F, 0.5F, 0.5F, 1});
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::link);
  CHECK(found.suspects[0].host == 0);
  CHECK(found.suspects[0].peer == 1);
  CHECK(found.suspects[0].rail == 0);
  CHECK(found.suspects[0].share == 0.5);
  CHECK(found.suspects[0].low == 3);
  CHECK(found.suspects[0].samples == 4);
  CHECK(found.retest.empty());
  CHECK(nothing(links_of({0.5F, 0.5F, 1, 1})));  // median 0.75, but half is as it should be
  // All three are below the tolerance, and their median, 0.9, may come from the noise.
  CHECK(nothing(links_of({0.6F, 0.9F, 0.9F}, 0.1)));
}

TEST_CASE("a pair is asked for again from a dip of 3 % or 3.5 times the noise on") {
  CHECK(links_of({0.969F}).retest == std::vector<HostPair>{{0, 1}});
  CHECK(nothing(links_of({0.971F})));
  CHECK(links_of({0.964F}, 0.01).retest.size() == 1);
  CHECK(nothing(links_of({0.966F}, 0.01)));
  CHECK(links_of({0.9F, 0.9F}).retest.size() == 1);
  CHECK(links_of({0.9F, 0.9F, 0.9F}).retest.empty());  // that is enough to name it
}

TEST_CASE(
    "a pair is asked for once, whatever its rails, and not where an end is slow or explained") {
  const FleetShape fleet{.hosts = 3, .rails = 2};
  const locating::Judge judge({}, kQuiet);
  std::vector<locating::Sample> samples{
      {2, 1, 1, 0.9F, false}, {0, 1, 1, 0.9F, false}, {0, 1, 0, 0.9F, false}};
  const auto retest = [&](std::vector<size_t> slow) {
    std::vector<bool> is_slow(fleet.nics(), false);
    for (const size_t nic : slow) is_slow[nic] = true;
    return locating::find_links(fleet, judge, samples, is_slow).retest;
  };
  CHECK(retest({}) == std::vector<HostPair>{{0, 1}, {2, 1}});
  CHECK(retest({fleet.nic(1, 1)}) == std::vector<HostPair>{{0, 1}});
  CHECK(retest({fleet.nic(2, 1), fleet.nic(0, 0)}) == std::vector<HostPair>{{0, 1}});
  CHECK(retest({fleet.nic(0, 0), fleet.nic(0, 1)}) == std::vector<HostPair>{{2, 1}});
  samples[0].explained = true;
  CHECK(retest({}) == std::vector<HostPair>{{0, 1}});
}
