#include "model/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace cb {
namespace {

// Round r of the circle method over an even number of seats: the last seat stays and the others
// turn.
Round circle_round(int seats, int r) {
  const int turning = seats - 1;
  Round round;
  round.reserve(static_cast<size_t>(seats / 2));
  round.push_back({r, turning});
  for (int i = 1; i < seats / 2; ++i) {
    round.push_back({(r + i) % turning, (r + turning - i) % turning});
  }
  return round;
}

int even_seats(int n) { return n + n % 2; }

// Removes the pair with the empty seat that an odd number of hosts leaves.
Round occupied(Round round, int n) {
  std::erase_if(round, [n](const HostPair& p) { return p.from >= n || p.to >= n; });
  return round;
}

std::vector<int> shuffled(int n, std::mt19937_64& random) {
  std::vector<int> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  // std::shuffle differs between standard libraries; this loop does not.
  for (size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[random() % i]);
  return out;
}

std::map<int, std::vector<int>> members_of(const std::vector<int>& group_of) {
  std::map<int, std::vector<int>> members;
  for (size_t i = 0; i < group_of.size(); ++i) members[group_of[i]].push_back(static_cast<int>(i));
  return members;
}

}  // namespace

std::vector<Round> tournament(int n) {
  std::vector<Round> rounds;
  if (n < 2) return rounds;
  const int seats = even_seats(n);
  for (int r = 0; r < seats - 1; ++r) rounds.push_back(occupied(circle_round(seats, r), n));
  return rounds;
}

std::vector<Round> shift(int n) {
  std::vector<Round> rounds;
  for (int s = 1; s < n; ++s) {
    Round round;
    round.reserve(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) round.push_back({i, (i + s) % n});
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> random_rounds(int n, int k, uint64_t seed) {
  std::vector<Round> rounds;
  if (n < 2) return rounds;
  std::mt19937_64 random(seed);
  const int seats = even_seats(n);
  const std::vector<int> host = shuffled(n, random);
  const std::vector<int> order = shuffled(seats - 1, random);
  for (int i = 0; i < std::min(k, seats - 1); ++i) {
    Round round = occupied(circle_round(seats, order[static_cast<size_t>(i)]), n);
    for (HostPair& p : round) {
      p = {host[static_cast<size_t>(p.from)], host[static_cast<size_t>(p.to)]};
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> local_rounds(const std::vector<int>& group_of, int k, uint64_t seed) {
  std::vector<Round> rounds;
  for (const auto& [group, hosts] : members_of(group_of)) {
    const auto within =
        random_rounds(static_cast<int>(hosts.size()), k, seed + static_cast<uint64_t>(group));
    if (rounds.size() < within.size()) rounds.resize(within.size());
    for (size_t r = 0; r < within.size(); ++r) {
      for (const HostPair& p : within[r]) {
        rounds[r].push_back({hosts[static_cast<size_t>(p.from)], hosts[static_cast<size_t>(p.to)]});
      }
    }
  }
  return rounds;
}

Round bisection(const std::vector<int>& group_of) {
  std::vector<int> ordered;
  for (const auto& [group, hosts] : members_of(group_of)) {
    ordered.insert(ordered.end(), hosts.begin(), hosts.end());
  }
  const size_t half = ordered.size() / 2;
  Round round;
  for (size_t i = 0; i < half; ++i) round.push_back({ordered[i], ordered[i + half]});
  return round;
}

Round incast(int n, int receiver) {
  Round round;
  for (int i = 0; i < n; ++i) {
    if (i != receiver) round.push_back({i, receiver});
  }
  return round;
}

Round one_to_many(int n, int sender) {
  Round round = incast(n, sender);
  for (HostPair& p : round) std::swap(p.from, p.to);
  return round;
}

HostPair victim_of(int n, int receiver) { return {(receiver + 1) % n, (receiver + 2) % n}; }

std::vector<Round> victim_rounds(int n, int receiver) {
  const HostPair victim = victim_of(n, receiver);
  Round together = incast(n, receiver);
  std::erase_if(together, [&](const HostPair& p) { return p.from == victim.from; });
  together.push_back(victim);
  return {{victim}, std::move(together)};
}

std::vector<Round> disjoint_rounds(const std::vector<HostPair>& pairs) {
  std::vector<Round> rounds;
  std::vector<std::set<int>> busy;
  for (const HostPair& p : pairs) {
    size_t r = 0;
    while (r < rounds.size() && (busy[r].contains(p.from) || busy[r].contains(p.to))) ++r;
    if (r == rounds.size()) {
      rounds.emplace_back();
      busy.emplace_back();
    }
    rounds[r].push_back(p);
    busy[r].insert({p.from, p.to});
  }
  return rounds;
}

}  // namespace cb
