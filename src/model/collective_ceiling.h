#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/messages/said.h"
#include "model/collectives.h"

// Upper bounds of the bus bandwidth of collectives, from what the wires carry. Pure; derived from
// the definitions in nccl-tests' doc/PERFORMANCE.md: docs/methods/nccl.md has each bound.
namespace cb {

// How data go. A bus bandwidth counts the bytes of a ring; what moves fewer bytes over the slowest
// wire shows more than that wire has.
enum class CollectiveAlgorithm {
  ring,
  hierarchical,  // trees, or one step inside the hosts and one between them
  in_network,    // the network's switches reduce and multiply: InfiniBand SHARP
  nvls,          // the NVLink switch does, and between hosts the network's
  nvls_tree,     // the NVLink switch does, and between hosts a tree
  any            // not known: the most that one of them allows
};

// The wires; a rate is of one direction, in bytes per second, and absent where it is not known.
struct CollectiveWires {
  uint64_t ranks = 1;
  uint64_t hosts = 1;                       // equally many ranks on each
  std::optional<double> host_network = {};  // all ports of a host together
  std::optional<double> gpu_link = {};      // all links of a GPU together
  bool nvls_possible = false;
};

struct CollectiveCeiling {
  double bytes_per_second = 0;
  Said how;  // "8 GPUs over NVLink of 450 GB/s, NVLS: …"
};

// Between hosts, of ranks on `hosts` hosts whose ports carry `host_bytes_per_second`; links inside
// a host are taken as free. Nothing with one host, or unequal hosts.
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

// Inside a host, of ranks with `link_bytes_per_second` each. The link itself, but for all_reduce
// with NVLS: a rank sends (1 + 1/n) times the data, so busbw <= link * 2(n-1)/(n+1). In_network
// over several hosts reduces inside the host first, where g ranks move (g-1)/g of the data twice:
// busbw <= link * ((n-1)/n) * g/(g-1). Nothing for one rank.
std::optional<double> link_bus_ceiling(Collective collective, CollectiveAlgorithm algorithm,
                                       uint64_t ranks, uint64_t hosts,
                                       double link_bytes_per_second);

// The lower of both, with the reason; nothing where no rate is known. With `any` the most that an
// algorithm allows, which a measurement cannot exceed.
std::optional<CollectiveCeiling> collective_ceiling(Collective collective,
                                                    CollectiveAlgorithm algorithm,
                                                    const CollectiveWires& wires);

// Why a bus bandwidth lies above the rate of the wire it went over, in a sentence; empty if it does
// not. Such a figure is right: it counts a ring's bytes.
Said explain_above_wire(Collective collective, double bus_bytes_per_second,
                        const CollectiveWires& wires);

// ring, hierarchical (tree, pat), in_network (collnet…), nvls, nvls_tree from what NCCL calls it.
CollectiveAlgorithm algorithm_of(const std::string& nccl_name);

}  // namespace cb
