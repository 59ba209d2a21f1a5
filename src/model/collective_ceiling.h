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
  uint64_t hosts = 1;                       // each has the same number of ranks
  std::optional<double> host_network = {};  // all ports of a host together
  std::optional<double> gpu_link = {};      // all links of a GPU together
  bool nvls_possible = false;
};

struct CollectiveCeiling {
  double bytes_per_second = 0;
  Said how;  // "8 GPUs over NVLink of 450 GB/s, NVLS: …"
};

// Bound by the network between `hosts` hosts, whose ports carry `host_bytes_per_second` each; links
// inside a host count as unlimited. Nothing with one host, or if the hosts have unequal numbers of
// ranks.
//   ring (also all_gather, reduce_scatter, broadcast, reduce): every byte crosses once, so
//     busbw <= host rate
//   hierarchical all_reduce: only the share of the hosts crosses,
//     busbw <= host rate * ((n-1)/n) / ((k-1)/k)
//   in_network all_reduce: a host sends its data once and receives the result once, so the
//     algorithm bandwidth <= host rate and busbw <= host rate * 2(n-1)/n
//   alltoall(v): a rank sends (n-g)/n of its data to other hosts over its share of the ports,
//     busbw <= host rate / g * (n-1)/(n-g), g ranks per host
//   sendrecv: one rank of a host sends to the next host; it has its share of the ports at least
//     and all of them at most, which is the bound
//   pairs i, i + n/2: all pairs of a host cross, each with its share
//   gather and scatter: the root's host carries (n-g)/n of the data: host rate * (n-1)/(n-g)
std::optional<double> network_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                          uint64_t ranks, uint64_t hosts,
                                          double host_bytes_per_second);

// Bound by the links inside a host, for ranks with `link_bytes_per_second` each: the link's rate,
// except for all_reduce. Nothing for one rank.
//   nvls all_reduce: a rank sends (1 + 1/n) times the data, so busbw <= link * 2(n-1)/(n+1)
//   in_network all_reduce over several hosts: it first reduces inside the host, where g ranks move
//     (g-1)/g of the data twice, so busbw <= link * ((n-1)/n) * g/(g-1)
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
