#include "model/locate.h"

#include <functional>

#include <doctest/doctest.h>

using namespace cb;

namespace {

// Every directed pair and rail once, with a noise of ±0.5 % that depends on the pair alone.
std::vector<PairSample> survey(const FleetShape& fleet, const std::vector<Round>& rounds,
                               const std::function<double(int, int, int)>& factor) {
  std::vector<PairSample> out;
  for (const Round& round : rounds) {
    for (const HostPair& p : round) {
      for (int rail = 0; rail < fleet.rails; ++rail) {
        for (const auto& [from, to] : {std::pair(p.from, p.to), std::pair(p.to, p.from)}) {
          const int wobble = (from * 31 + to * 17 + rail * 7) % 11 - 5;
          out.push_back({from, to, rail, 40e9 * factor(from, to, rail) * (1 + 0.001 * wobble)});
        }
      }
    }
  }
  return out;
}

FleetShape rails_on_leaves(int hosts, int rails, int per_leaf) {
  FleetShape fleet{.hosts = hosts, .rails = rails};
  for (int h = 0; h < hosts; ++h) {
    for (int r = 0; r < rails; ++r) fleet.leaf.push_back(h / per_leaf * rails + r);
  }
  return fleet;
}

}  // namespace

TEST_CASE("a healthy fleet has no suspect") {
  const FleetShape fleet{.hosts = 8, .rails = 4};
  const Located found =
      locate(fleet, survey(fleet, tournament(8), [](int, int, int) { return 1; }));
  CHECK(found.suspects.empty());
  CHECK(found.retest.empty());
}

TEST_CASE("no samples, no suspect") {
  CHECK(locate({.hosts = 4, .rails = 1}, {}).suspects.empty());
}

TEST_CASE("a slow host is named as host, not as its NICs") {
  const FleetShape fleet{.hosts = 8, .rails = 4};
  const Located found = locate(fleet, survey(fleet, tournament(8), [](int a, int b, int) {
                                 return a == 5 || b == 5 ? 0.8 : 1;
                               }));
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::host);
  CHECK(found.suspects[0].host == 5);
  CHECK(found.suspects[0].share == doctest::Approx(0.8).epsilon(0.01));
}

TEST_CASE("a host with one rail is a host") {
  const FleetShape fleet{.hosts = 6, .rails = 1};
  const Located found = locate(fleet, survey(fleet, tournament(6), [](int a, int b, int) {
                                 return a == 2 || b == 2 ? 0.7 : 1;
                               }));
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::host);
  CHECK(found.suspects[0].host == 2);
}

TEST_CASE("a NIC that only receives badly is named with its side") {
  const FleetShape fleet{.hosts = 8, .rails = 4};
  const Located found = locate(fleet, survey(fleet, tournament(8), [](int, int b, int rail) {
                                 return b == 3 && rail == 1 ? 0.5 : 1;
                               }));
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::nic);
  CHECK(found.suspects[0].host == 3);
  CHECK(found.suspects[0].rail == 1);
  CHECK(found.suspects[0].side == Side::receive);
  CHECK(to_text(found.suspects[0]) ==
        "nic 3:1 receives 49.9 % of the fleet's median (7 of 7 samples low)");
}

TEST_CASE(
    "a slow uplink is named, not the NICs behind it; what is within tolerance is nobody's fault") {
  const FleetShape fleet = rails_on_leaves(12, 2, 4);
  for (const double share : {0.94, 0.98}) {
    const Located found =
        locate(fleet, survey(fleet, tournament(12), [&](int a, int b, int rail) {
                 return (fleet.leaf_of(a, rail) == 3) != (fleet.leaf_of(b, rail) == 3) ? share : 1;
               }));
    if (share > 0.975) {
      CHECK(found.suspects.empty());
    } else {
      REQUIRE(found.suspects.size() == 1);
      CHECK(found.suspects[0].kind == SuspectKind::uplink);
      CHECK(found.suspects[0].leaf == 3);
    }
  }
}

TEST_CASE("one bad path is asked for again, and named once it has three samples") {
  const FleetShape fleet{.hosts = 8, .rails = 2};
  const auto bad = [](int a, int b, int rail) { return a == 1 && b == 6 && rail == 0 ? 0.9 : 1; };
  std::vector<PairSample> samples = survey(fleet, tournament(8), bad);
  const Located first = locate(fleet, samples);
  CHECK(first.suspects.empty());
  REQUIRE(first.retest == std::vector<HostPair>{{1, 6}});
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const PairSample& s : survey(fleet, disjoint_rounds(first.retest), bad))
      samples.push_back(s);
  }
  const Located second = locate(fleet, samples);
  REQUIRE(second.suspects.size() == 1);
  CHECK(second.suspects[0].kind == SuspectKind::link);
  CHECK(second.suspects[0].host == 1);
  CHECK(second.suspects[0].peer == 6);
  CHECK(second.retest.empty());
}

TEST_CASE("a path is asked for again from a dip of 3 % on") {
  const FleetShape fleet{.hosts = 8, .rails = 2};
  const auto asked_again = [&](double share) {
    return !locate(fleet, survey(fleet, tournament(8),
                                 [&](int a, int b, int rail) {
                                   return a == 1 && b == 6 && rail == 0 ? share : 1;
                                 }))
                .retest.empty();
  };
  CHECK(asked_again(0.96));
  CHECK_FALSE(asked_again(0.98));
}

TEST_CASE("slow together and fine alone is congestion") {
  const FleetShape fleet{.hosts = 6, .rails = 1};
  std::vector<PairSample> samples =
      survey(fleet, tournament(6), [](int a, int b, int) { return a == 0 || b == 0 ? 0.8 : 1; });
  for (int peer = 1; peer < 5; ++peer) samples.push_back({0, peer, 0, 40e9, true});
  const Located found = locate(fleet, samples);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].congestion);
}

TEST_CASE("the quick survey of 1,024 hosts takes at most 40 rounds and grows with log n") {
  CHECK(quick_survey(rails_on_leaves(1024, 8, 32), 1).size() == 24);
  CHECK(quick_survey(rails_on_leaves(64, 8, 32), 1).size() == 20);
  CHECK(quick_survey({.hosts = 64, .rails = 8}, 1).size() == 14);
}

TEST_CASE("of four hosts a slow one is named although it takes part in half of all pairs") {
  const FleetShape fleet{.hosts = 4, .rails = 1};
  for (const double share : {0.5, 0.9, 0.99}) {
    std::vector<PairSample> samples;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (const PairSample& s : survey(fleet, tournament(4), [&](int a, int b, int) {
             return a == 2 || b == 2 ? share : 1;
           })) {
        samples.push_back(s);
        samples.push_back({s.to, s.from, 0, s.value, false});
      }
    }
    const Located found = locate(fleet, samples);
    CAPTURE(share);
    if (share > 0.975) {
      CHECK(found.suspects.empty());
    } else {
      REQUIRE(found.suspects.size() == 1);
      CHECK(found.suspects[0].kind == SuspectKind::host);
      CHECK(found.suspects[0].host == 2);
      CHECK(found.suspects[0].side == Side::both);
    }
  }
}

TEST_CASE("suspects measured alone are compared with sound pairs alone, not with each other") {
  const FleetShape fleet{.hosts = 6, .rails = 1};
  const auto slow = [](int a, int b, int) { return a == 1 || b == 1 ? 0.5 : 1; };
  std::vector<PairSample> samples = survey(fleet, tournament(6), slow);
  const Located first = locate(fleet, samples);
  const std::vector<HostPair> pairs = confirming_pairs(fleet, first);
  // The suspect with two partners and a sound pair, each both ways.
  CHECK(pairs == std::vector<HostPair>{{1, 2}, {2, 1}, {1, 3}, {3, 1}, {0, 2}, {2, 0}});
  for (int repeat = 0; repeat < 6; ++repeat) {
    for (const HostPair& p : pairs) {
      // Alone everything is half as fast again, and the suspect is as slow as before.
      const double value = slow(p.from, p.to, 0) * 75e9;
      samples.push_back({p.from, p.to, 0, value, true});
    }
  }
  const Located second = locate(fleet, samples);
  REQUIRE(second.suspects.size() == 1);
  CHECK(second.suspects[0].host == 1);
  CHECK_FALSE(second.suspects[0].congestion);
}

TEST_CASE("nothing suspected, nothing to confirm") {
  const FleetShape fleet{.hosts = 6, .rails = 1};
  const Located found =
      locate(fleet, survey(fleet, tournament(6), [](int, int, int) { return 1.0; }));
  CHECK(found.suspects.empty());
  CHECK(confirming_pairs(fleet, found).empty());
}

TEST_CASE("a host that only sends badly and does so alone is no congestion") {
  const FleetShape fleet{.hosts = 4, .rails = 1};
  const auto slow = [](int a, int, int) { return a == 1 ? 0.5 : 1; };
  std::vector<PairSample> samples;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const PairSample& s : survey(fleet, tournament(4), slow)) samples.push_back(s);
  }
  const std::vector<HostPair> pairs = confirming_pairs(fleet, locate(fleet, samples));
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const HostPair& p : pairs)
      samples.push_back({p.from, p.to, 0, slow(p.from, p.to, 0) * 40e9, true});
  }
  const Located found = locate(fleet, samples);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].side == Side::transmit);
  CHECK_FALSE(found.suspects[0].congestion);
}

TEST_CASE("of two leaves the path between them is named although most pairs cross it") {
  FleetShape fleet{.hosts = 4, .rails = 1, .leaf = {0, 0, 1, 1}};
  const auto crossing = [&](int a, int b) { return fleet.leaf_of(a, 0) != fleet.leaf_of(b, 0); };
  std::vector<PairSample> samples;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto more =
        survey(fleet, tournament(4), [&](int a, int b, int) { return crossing(a, b) ? 0.2 : 1; });
    samples.insert(samples.end(), more.begin(), more.end());
  }
  const Located found = locate(fleet, samples);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::uplink);
  CHECK(found.suspects[0].peer_leaf == 1 - found.suspects[0].leaf);
  CHECK(found.suspects[0].share == doctest::Approx(0.2).epsilon(0.02));
}

TEST_CASE("a slow host of a small leaf is no uplink") {
  FleetShape fleet{.hosts = 6, .rails = 1, .leaf = {0, 0, 1, 1, 2, 2}};
  std::vector<PairSample> samples;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto more =
        survey(fleet, tournament(6), [](int a, int b, int) { return a == 3 || b == 3 ? 0.5 : 1; });
    samples.insert(samples.end(), more.begin(), more.end());
  }
  const Located found = locate(fleet, samples);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::host);
  CHECK(found.suspects[0].host == 3);
}

TEST_CASE("a path that is fine alone is congested, and other paths alone say nothing of it") {
  const FleetShape fleet{.hosts = 8, .rails = 2};
  const auto bad = [](int a, int b, int rail) { return a == 1 && b == 6 && rail == 1 ? 0.8 : 1; };
  std::vector<PairSample> samples = survey(fleet, tournament(8), bad);
  for (int repeat = 0; repeat < 8; ++repeat) {
    for (const PairSample& s : survey(fleet, disjoint_rounds({{1, 6}}), bad)) samples.push_back(s);
  }
  const auto congested = [&](const std::vector<PairSample>& alone) {
    std::vector<PairSample> all = samples;
    for (int repeat = 0; repeat < 4; ++repeat) all.insert(all.end(), alone.begin(), alone.end());
    const Located found = locate(fleet, all);
    REQUIRE(found.suspects.size() == 1);
    CHECK(found.suspects[0].kind == SuspectKind::link);
    CHECK(found.suspects[0].rail == 1);
    return found.suspects[0].congestion;
  };
  CHECK(congested({{1, 6, 1, 40e9, true}}));
  CHECK_FALSE(congested({{1, 6, 1, 32e9, true}, {0, 2, 1, 40e9, true}}));
  for (const PairSample& other : std::vector<PairSample>{{1, 6, 0, 40e9, true},
                                                         {6, 1, 1, 40e9, true},
                                                         {1, 5, 1, 40e9, true},
                                                         {2, 6, 1, 40e9, true}})
    CHECK_FALSE(congested({other}));
}

TEST_CASE("one NIC of a host: its rail, and the side that is slow") {
  const FleetShape fleet{.hosts = 8, .rails = 4};
  const Located sends = locate(fleet, survey(fleet, tournament(8), [](int a, int, int rail) {
                                 return a == 3 && rail == 2 ? 0.7 : 1;
                               }));
  REQUIRE(sends.suspects.size() == 1);
  CHECK(sends.suspects[0].kind == SuspectKind::nic);
  CHECK(sends.suspects[0].host == 3);
  CHECK(sends.suspects[0].rail == 2);
  CHECK(sends.suspects[0].side == Side::transmit);
  CHECK(sends.suspects[0].samples == 7);
  CHECK(sends.suspects[0].low == 7);
  CHECK(sends.suspects[0].confidence > 0.99);
  CHECK(sends.noise == doctest::Approx(0.003).epsilon(1));
  const Located receives = locate(fleet, survey(fleet, tournament(8), [](int, int b, int rail) {
                                    return b == 0 && rail == 0 ? 0.7 : 1;
                                  }));
  REQUIRE(receives.suspects.size() == 1);
  CHECK(receives.suspects[0].host == 0);
  CHECK(receives.suspects[0].rail == 0);
  CHECK(receives.suspects[0].side == Side::receive);
}

TEST_CASE("a NIC that is slow one way is named also where most samples are of the other way") {
  const FleetShape fleet{.hosts = 8, .rails = 4};
  for (const bool sends : {false, true}) {
    const auto slow = [&](int a, int b, int rail) {
      return (sends ? a : b) == 3 && rail == 1 ? 0.5 : 1.0;
    };
    std::vector<PairSample> all = survey(fleet, tournament(8), slow);
    // The sound way three times, so that the middle of all samples of this NIC is sound.
    for (const PairSample& s : std::vector(all)) {
      if (s.rail != 1 || (sends ? s.to : s.from) != 3) continue;
      all.insert(all.end(), 2, s);
    }
    const Located found = locate(fleet, all);
    REQUIRE(found.suspects.size() == 1);
    CHECK(found.suspects[0].kind == SuspectKind::nic);
    CHECK(found.suspects[0].host == 3);
    CHECK(found.suspects[0].rail == 1);
    CHECK(found.suspects[0].side == (sends ? Side::transmit : Side::receive));
  }
}

TEST_CASE("an uplink that is fine alone is congested") {
  const FleetShape fleet = rails_on_leaves(16, 1, 4);
  const auto crossing = [&](int a, int b) { return fleet.leaf_of(a, 0) != fleet.leaf_of(b, 0); };
  const auto slow = [&](int a, int b, int) {
    return crossing(a, b) && (a / 4 == 2 || b / 4 == 2) ? 0.6 : 1;
  };
  std::vector<PairSample> samples = survey(fleet, tournament(16), slow);
  const Located together = locate(fleet, samples);
  REQUIRE(together.suspects.size() == 1);
  CHECK(together.suspects[0].kind == SuspectKind::uplink);
  CHECK(together.suspects[0].leaf == 2);
  CHECK(together.suspects[0].peer_leaf == -1);
  CHECK_FALSE(together.suspects[0].congestion);
  std::vector<PairSample> inside = samples;
  for (int repeat = 0; repeat < 4; ++repeat) {
    samples.push_back({8, 0, 0, 40e9, true});
    inside.push_back({8, 9, 0, 40e9, true});  // does not leave the leaf
  }
  CHECK(locate(fleet, samples).suspects.at(0).congestion);
  CHECK_FALSE(locate(fleet, inside).suspects.at(0).congestion);
}

TEST_CASE("a leaf that is slow inside as well is no uplink: its hosts are") {
  const FleetShape fleet = rails_on_leaves(16, 1, 4);
  const Located found = locate(fleet, survey(fleet, tournament(16), [](int a, int b, int) {
                                 return a / 4 == 2 || b / 4 == 2 ? 0.6 : 1;
                               }));
  CHECK(found.suspects.size() == 4);
  for (const Suspect& s : found.suspects) {
    CHECK(s.kind == SuspectKind::host);
    CHECK(s.host / 4 == 2);
  }
}

TEST_CASE("two leaves of which only crossing pairs were measured") {
  const FleetShape fleet{.hosts = 8, .rails = 1, .leaf = {0, 0, 0, 0, 1, 1, 1, 1}};
  std::vector<PairSample> samples;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const PairSample& s : survey(
             fleet, tournament(8), [](int a, int b, int) { return a == 5 || b == 5 ? 0.7 : 1; })) {
      if (s.from / 4 != s.to / 4) samples.push_back(s);
    }
  }
  const Located found = locate(fleet, samples);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].kind == SuspectKind::host);
  CHECK(found.suspects[0].host == 5);
}

TEST_CASE("an uplink is confirmed by two pairs of hosts across it, and one pair is the measure") {
  const auto pairs_for = [](const FleetShape& fleet, std::vector<Suspect> suspects) {
    return confirming_pairs(fleet, {.suspects = std::move(suspects)});
  };
  const FleetShape one = rails_on_leaves(8, 1, 4), two = rails_on_leaves(8, 2, 4);
  const std::vector<HostPair> across{{4, 0}, {0, 4}, {5, 1}, {1, 5}, {0, 1}, {1, 0}};
  CHECK(pairs_for(one, {{.kind = SuspectKind::uplink, .leaf = 1}}) == across);
  CHECK(pairs_for(two, {{.kind = SuspectKind::uplink, .leaf = 2}}) == across);
  CHECK(pairs_for(two, {{.kind = SuspectKind::uplink, .leaf = 3}}) == across);
  CHECK(pairs_for(one, {{.kind = SuspectKind::uplink, .leaf = 0}}) ==
        std::vector<HostPair>{{0, 4}, {4, 0}, {1, 5}, {5, 1}, {0, 1}, {1, 0}});
  // A leaf with one sound host has one pair.
  const FleetShape small = rails_on_leaves(4, 1, 3);
  CHECK(pairs_for(small, {{.kind = SuspectKind::uplink, .leaf = 1}}) ==
        std::vector<HostPair>{{3, 0}, {0, 3}, {0, 1}, {1, 0}});
  // Suspected hosts are no measure; each is measured with two others, both ways.
  CHECK(pairs_for(one, {{.kind = SuspectKind::host, .host = 0}}) ==
        std::vector<HostPair>{{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}});
}
