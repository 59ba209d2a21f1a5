#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/messages/said.h"
#include "model/collectives.h"

// Upper bounds of the bus bandwidth of collectives, from what the wires carry. Pure; derived from
// the definitions in nccl-tests' doc/PERFORMANCE.md: docs/methods/nccl.md has each bound.
namespace cb {

// How an algorithm moves data. A bus bandwidth counts the bytes of a ring: an algorithm that moves
// fewer bytes over the slowest wire shows a higher bus bandwidth than that wire has.
enum class CollectiveAlgorithm {
  ring,
  hierarchical,  // trees, or one step inside each host and one between the hosts
  in_network,    // the network's switches reduce and multiply: InfiniBand SHARP
  nvls,          // the NVLink switch reduces; between hosts, the network's switches do
  nvls_tree,     // the NVLink switch reduces; between hosts, a tree does
  any            // not known: the highest bound of all algorithms
};

// The wires. A rate is that of one direction in bytes per second; nothing if it is not known.
struct LinkRates {
  uint64_t ranks = 1;
  // Hosts, or NVLink domains if `domains` is set; each has the same number of ranks.
  uint64_t hosts = 1;
  std::optional<double> host_network = {};  // all ports of a host, or of a domain, together
  std::optional<double> gpu_link = {};      // all links of a GPU together
  bool nvls_possible = false;
  bool domains = false;  // NVLink reaches over the hosts of a domain (NVL72)
};

struct CollectiveCeiling {
  double bytes_per_second = 0;
  Said how;  // "400 GB/s per host in a direction over 8 hosts, …; × 2(n−1)/n = 1.969, n = 64"
};

// A bound of the bus bandwidth as a multiple of a wire's rate, and the formula of the multiple.
struct BusFactor {
  double value = 1;
  const char* formula = "";  // in n ranks, k hosts and g = n/k; empty: the wire's rate itself
};

// Bound by the network between k = `hosts` hosts, as a multiple of what a host's ports carry in one
// direction; links inside a host count as unlimited. Nothing with one host, or if the hosts have
// unequal numbers of ranks. S is the size, n = `ranks`, g = n/k:
//   ring: every byte crosses every edge between hosts, S(n-1)/n for all_gather and reduce_scatter,
//     twice that for all_reduce: busbw <= host rate; also broadcast and reduce, which move S
//   hierarchical all_reduce: only the share of the hosts crosses, 2S(k-1)/k:
//     busbw <= host rate * ((n-1)/n) / ((k-1)/k)
//   in_network all_reduce: a host sends its data once and receives the result once, S each way at
//     the same time: algorithm bandwidth <= host rate, busbw <= host rate * 2(n-1)/n
//   all_gather and reduce_scatter that are no ring, with or without switches that multiply or
//     reduce: a host must receive (send) what belongs to the others, S(k-1)/k:
//     busbw <= host rate * ((n-1)/n) / ((k-1)/k)
//   alltoall(v): a rank sends (n-g)/n of its data to other hosts over its share of the ports,
//     busbw <= host rate / g * (n-1)/(n-g)
//   sendrecv: one rank of a host sends to the next host; it has its share of the ports at least
//     and all of them at most, which is the bound
//   pairs i, i + n/2: all pairs of a host cross, each with its share
//   gather and scatter: the root's host carries (n-g)/n of the data: host rate * (n-1)/(n-g)
std::optional<BusFactor> network_bus_factor(Collective collective, CollectiveAlgorithm algorithm,
                                            uint64_t ranks, uint64_t hosts);
std::optional<double> network_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                          uint64_t ranks, uint64_t hosts,
                                          double host_bytes_per_second);

// Bound by the links inside a host, as a multiple of a rank's link: 1, except where less than a
// ring's bytes cross it. Nothing for one rank a host. The host has g = `ranks`/`hosts` ranks.
//   nvls all_reduce: the switch reads a rank's S and gives back its result for 1/g of it, so
//     algorithm bandwidth <= link * g/(g+1) and busbw <= link * 2(n-1)/n * g/(g+1)
//   in_network all_reduce over several hosts: it first reduces inside the host, where g ranks move
//     (g-1)/g of the data twice, so busbw <= link * ((n-1)/n) * g/(g-1)
//   all_gather and reduce_scatter over several hosts that are no ring: a rank's own network brings
//     its rail's k blocks, and the links the others', so busbw <= link * (n-1)/(n-k)
std::optional<BusFactor> link_bus_factor(Collective collective, CollectiveAlgorithm algorithm,
                                         uint64_t ranks, uint64_t hosts);
std::optional<double> link_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                       uint64_t ranks, uint64_t hosts,
                                       double link_bytes_per_second);

// Returns the lower of both bounds, with the reason; nothing if no rate is known. `any` gives the
// highest bound of all algorithms, which no measurement can exceed.
std::optional<CollectiveCeiling> collective_ceiling(Collective collective,
                                                    CollectiveAlgorithm algorithm,
                                                    const LinkRates& wires);

// Says why a bus bandwidth is above the rate of its wire; empty if it is not. Such a figure is
// right: it counts a ring's bytes.
Said explain_above_wire(Collective collective, double bus_bytes_per_second, const LinkRates& wires);

// Maps NCCL's name: ring, tree and pat (hierarchical), collnet… (in_network), nvls, nvls_tree.
CollectiveAlgorithm algorithm_of(const std::string& nccl_name);

}  // namespace cb
