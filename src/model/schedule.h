#pragma once

#include <cstdint>
#include <vector>

namespace cb {

// `from` sends to `to`; in an undirected schedule their order means nothing. Host numbers begin at
// 0.
struct HostPair {
  int from = 0;
  int to = 0;
  auto operator<=>(const HostPair&) const = default;
};

// Pairs that are measured at the same time.
using Round = std::vector<HostPair>;

// Circle method (Kirkman 1847): n−1 rounds of disjoint pairs (n rounds if n is odd, each with one
// idle host) with every unordered pair exactly once.
std::vector<Round> tournament(int n);

// n−1 rounds: in round s every host i sends to (i+s) mod n. Every directed pair occurs exactly
// once, and in every round each host sends once and receives once.
std::vector<Round> shift(int n);

// k rounds of disjoint pairs, drawn from the tournament of randomly renumbered hosts. All rounds
// differ, so no pair occurs twice; there are fewer if the tournament has fewer. Every host takes
// part in every round if n is even.
std::vector<Round> random_rounds(int n, int k, uint64_t seed);

// k rounds of disjoint pairs within groups (hosts on one leaf): group_of[i] is host i's group. The
// host of a group of one is idle.
std::vector<Round> local_rounds(const std::vector<int>& group_of, int k, uint64_t seed);

// One round that pairs every host of the lower half of the groups with one of the upper half, so
// that all traffic crosses the bisection. An odd number of hosts leaves one idle.
Round bisection(const std::vector<int>& group_of);

// incast: n−1 hosts send to one. one_to_many: one host sends to n−1.
Round incast(int n, int receiver);
Round one_to_many(int n, int sender);

// A flow that has no part in an incast, but may share links with it: first alone, then while all
// hosts but its sender send to `receiver`. n ≥ 4.
HostPair victim_of(int n, int receiver);
std::vector<Round> victim_rounds(int n, int receiver);

// Distributes pairs into rounds in which no host occurs twice; a greedy pass, so the number of
// rounds is small but not always the smallest.
std::vector<Round> disjoint_rounds(const std::vector<HostPair>& pairs);

}  // namespace cb
