// Recall and false suspects of locate() on simulated fleets: two-tier rails, 8 NICs a host, 32
// hosts a leaf, 1 % noise. Quick mode: 0–8 planted slow hosts, NICs and leaf uplinks of 5 % and
// more. Full mode: one bad path between two hosts. Prints a table; exits 1 below 99 % recall, above
// one false suspect in 1,000 hosts, or above 40 rounds of the quick mode. Full mode at 1,024 hosts
// takes seconds a fleet and 2 GB.
//   usage: locate_bench [FLEETS=200] [SEED=1] [MOST_HOSTS_OF_FULL_MODE=1024] [MODE=both|quick|full]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "model/locate.h"

namespace {

using namespace cb;

constexpr int kRails = 8;
constexpr int kHostsPerLeaf = 32;
constexpr size_t kMaxQuickRounds = 40;

struct Fault {
  SuspectKind kind;
  int host = -1, rail = -1, leaf = -1, peer = -1;
  double factor = 1;
  Side side = Side::both;
};

FleetShape make_fleet(int hosts) {
  FleetShape fleet{.hosts = hosts, .rails = kRails};
  for (int h = 0; h < hosts; ++h) {
    for (int r = 0; r < kRails; ++r) fleet.leaf.push_back(h / kHostsPerLeaf * kRails + r);
  }
  return fleet;
}

class Simulator {
 public:
  Simulator(const FleetShape& fleet, std::vector<Fault> faults, uint64_t seed)
      : fleet_(fleet), faults_(std::move(faults)), random_(seed) {}

  void measure(const Round& round, std::vector<PairSample>& out) {
    for (const HostPair& p : round) {
      for (int r = 0; r < fleet_.rails; ++r) {
        out.push_back({p.from, p.to, r, value(p.from, p.to, r)});
        out.push_back({p.to, p.from, r, value(p.to, p.from, r)});
      }
    }
  }

 private:
  double value(int from, int to, int rail) {
    double factor = 1;
    for (const Fault& f : faults_) {
      if (hits(f, from, to, rail)) factor = std::min(factor, f.factor);
    }
    return 48e9 * factor * (1 + 0.01 * normal_(random_));
  }

  bool hits(const Fault& f, int from, int to, int rail) const {
    if (f.kind == SuspectKind::host) return f.host == from || f.host == to;
    if (f.kind == SuspectKind::link) return f.host == from && f.peer == to && f.rail == rail;
    if (f.kind == SuspectKind::uplink)
      return (fleet_.leaf_of(from, rail) == f.leaf) != (fleet_.leaf_of(to, rail) == f.leaf);
    if (f.rail != rail) return false;
    return (f.side != Side::receive && f.host == from) ||
           (f.side != Side::transmit && f.host == to);
  }

  const FleetShape& fleet_;
  std::vector<Fault> faults_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

// 0–8 faults on different leaves' parts or hosts; no part twice.
std::vector<Fault> plant(const FleetShape& fleet, std::mt19937_64& random) {
  std::vector<Fault> faults;
  std::set<int> used_hosts, used_leaves;
  const int leaves = (fleet.hosts + kHostsPerLeaf - 1) / kHostsPerLeaf * kRails;
  const auto wanted = random() % 9;
  std::uniform_real_distribution<double> factor(0.5, 0.95);
  while (faults.size() < wanted) {
    const auto kind = random() % 3;
    Fault f{.kind = SuspectKind::nic, .factor = factor(random)};
    if (kind == 2) {
      f.kind = SuspectKind::uplink;
      f.leaf = static_cast<int>(random() % static_cast<uint64_t>(leaves));
      if (!used_leaves.insert(f.leaf).second) continue;
    } else {
      f.host = static_cast<int>(random() % static_cast<uint64_t>(fleet.hosts));
      if (!used_hosts.insert(f.host).second) continue;
      if (kind == 0)
        f.kind = SuspectKind::host;
      else {
        f.rail = static_cast<int>(random() % kRails);
        f.side = static_cast<Side>(random() % 3);
      }
    }
    faults.push_back(f);
  }
  return faults;
}

bool names(const Suspect& s, const Fault& f) {
  if (s.kind != f.kind) return false;
  switch (f.kind) {
    case SuspectKind::host:
      return s.host == f.host;
    case SuspectKind::nic:
      return s.host == f.host && s.rail == f.rail;
    case SuspectKind::uplink:
      return s.leaf == f.leaf || s.peer_leaf == f.leaf;
    case SuspectKind::link:
      return s.host == f.host && s.peer == f.peer && s.rail == f.rail;
    default:
      break;  // groups of ranks are not simulated
  }
  return false;
}

struct Tally {
  size_t planted = 0, found = 0, suspects = 0, false_suspects = 0;
  long long hosts = 0;
  size_t rounds = 0;
  double seconds = 0;
};

void count(Tally& t, const Located& result, const std::vector<Fault>& faults) {
  for (const Fault& f : faults) {
    ++t.planted;
    t.found += std::any_of(result.suspects.begin(), result.suspects.end(),
                           [&](const Suspect& s) { return names(s, f); });
  }
  for (const Suspect& s : result.suspects) {
    ++t.suspects;
    const bool right =
        std::any_of(faults.begin(), faults.end(), [&](const Fault& f) { return names(s, f); });
    t.false_suspects += !right;
    if (!right && std::getenv("VERBOSE") != nullptr) std::printf("false: %s\n", to_text(s).c_str());
  }
}

void retest(Simulator& simulator, const FleetShape& fleet, std::vector<PairSample>& samples,
            Located& result, Tally& t) {
  for (int repeat = 0; repeat < 6 && !result.retest.empty(); ++repeat) {
    for (const Round& r : disjoint_rounds(result.retest)) {
      simulator.measure(r, samples);
      ++t.rounds;
    }
  }
  result = locate(fleet, samples);
}

Tally quick(int hosts, int fleets, uint64_t seed) {
  const FleetShape fleet = make_fleet(hosts);
  Tally t;
  for (int i = 0; i < fleets; ++i) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(i) * 7919);
    const std::vector<Fault> faults = plant(fleet, random);
    Simulator simulator(fleet, faults, random());
    std::vector<PairSample> samples;
    const auto rounds = quick_survey(fleet, random());
    for (const Round& r : rounds) simulator.measure(r, samples);
    const auto start = std::chrono::steady_clock::now();
    const Located result = locate(fleet, samples);
    t.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    count(t, result, faults);
    t.hosts += hosts;
    t.rounds = std::max(t.rounds, rounds.size());
  }
  return t;
}

// Full mode: one bad path among all.
Tally full(int hosts, int fleets, uint64_t seed) {
  const FleetShape fleet = make_fleet(hosts);
  Tally t;
  size_t most_rounds = 0;
  for (int i = 0; i < fleets; ++i) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(i) * 104729);
    Fault f{.kind = SuspectKind::link,
            .factor = std::uniform_real_distribution<double>(0.5, 0.95)(random)};
    f.host = static_cast<int>(random() % static_cast<uint64_t>(hosts));
    f.peer = (f.host + 1 + static_cast<int>(random() % static_cast<uint64_t>(hosts - 1))) % hosts;
    f.rail = static_cast<int>(random() % kRails);
    Simulator simulator(fleet, {f}, random());
    std::vector<PairSample> samples;
    const auto rounds = tournament(hosts);
    samples.reserve(rounds.size() * rounds[0].size() * 2 * kRails + 1000000);
    for (const Round& r : rounds) simulator.measure(r, samples);
    const auto start = std::chrono::steady_clock::now();
    Located result = locate(fleet, samples);
    t.rounds = 0;
    retest(simulator, fleet, samples, result, t);
    t.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    count(t, result, {f});
    most_rounds = std::max(most_rounds, t.rounds + rounds.size());
    t.hosts += hosts;
  }
  t.rounds = most_rounds;
  return t;
}

bool print(const char* mode, int hosts, int fleets, const Tally& t) {
  const double recall =
      t.planted == 0 ? 1 : static_cast<double>(t.found) / static_cast<double>(t.planted);
  const double false_rate =
      static_cast<double>(t.false_suspects) / static_cast<double>(t.hosts) * 1000;
  std::printf("%-6s %6d %7d %7zu %8zu %9.2f %% %8zu %17.4f %12.1f ms\n", mode, hosts, fleets,
              t.rounds, t.planted, recall * 100, t.false_suspects, false_rate,
              t.seconds / fleets * 1e3);
  std::fflush(stdout);
  return recall >= 0.99 && false_rate <= 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int fleets = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const int most_full = argc > 3 ? std::atoi(argv[3]) : 1024;
  const std::string mode = argc > 4 ? argv[4] : "both";
  std::printf("%-6s %6s %7s %7s %8s %11s %8s %17s %15s\n", "mode", "hosts", "fleets", "rounds",
              "planted", "recall", "false", "false/1000 hosts", "decision");
  bool good = true;
  for (const int hosts : {64, 256, 1024}) {
    if (mode == "full") break;
    const Tally tally = quick(hosts, fleets, seed);
    good &= print("quick", hosts, fleets, tally) && tally.rounds <= kMaxQuickRounds;
  }
  for (const int hosts : {64, 256, 1024}) {
    if (mode == "quick" || hosts > most_full) break;
    good &= print("full", hosts, fleets, full(hosts, fleets, seed));
  }
  return good ? 0 : 1;
}
