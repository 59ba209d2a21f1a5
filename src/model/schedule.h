#pragma once

#include <cstdint>
#include <vector>

namespace cb {

// `from` sends to `to`; in an undirected schedule the order means nothing. Hosts are numbered from
// 0.
struct HostPair {
  int from = 0;
  int to = 0;
  auto operator<=>(const HostPair&) const = default;
};

// Pairs that are measured at the same time.
using Round = std::vector<HostPair>;

// Circle method (Kirkman 1847): n−1 rounds (n if n is odd, each with one host resting) of disjoint
// pairs; every unordered pair exactly once.
std::vector<Round> tournament(int n);

// n−1 rounds; in round s every host i sends to (i+s) mod n: every directed pair exactly once, and
// in every round each host sends once and receives once.
std::vector<Round> shift(int n);

// k rounds of disjoint pairs drawn from the tournament of randomly renumbered hosts, all different,
// and so no pair twice; all rounds if k is at least their number. Every host takes part in every
// round (n even).
std::vector<Round> random_rounds(int n, int k, uint64_t seed);

// k rounds of disjoint pairs within groups (hosts on one leaf): group_of[i] is host i's group. A
// group of one rests.
std::vector<Round> local_rounds(const std::vector<int>& group_of, int k, uint64_t seed);

// One round: every host of the lower half of the groups with one of the upper half, so that all
// traffic crosses the bisection. With an odd number of hosts one rests.
Round bisection(const std::vector<int>& group_of);

// n−1 senders to one receiver, and the other way round.
Round incast(int n, int receiver);
Round one_to_many(int n, int sender);

// Distributes pairs into the fewest rounds that a greedy pass finds in which no host occurs twice.
std::vector<Round> disjoint_rounds(const std::vector<HostPair>& pairs);

}  // namespace cb
