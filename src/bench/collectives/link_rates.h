#pragma once

#include <vector>

#include "bench/collectives/figures.h"
#include "bench/harness/case.h"
#include "model/collective_ceiling.h"

namespace cb {

// Sum over all active RDMA ports of this host, one direction, bytes per second; 0 if there is none
// or no rate is known.
double host_network_rate(const HostInventory& inventory);

// Collective over all ranks. The wires under a group of `ranks` ranks, as the library counts them.
// The slowest host's network counts; of groups that measure at the same time each has the share of
// its ranks on the host. `gpu_link` is 0 if it is unknown.
// `domain_of_rank` are the NVLink domains of all ranks' GPUs, empty if none is known: where domains
// reach over several hosts, the wires are those between domains.
LinkRates collective_wires(Context& context, const Group& group, int ranks, double gpu_link,
                           bool nvls_possible, const std::vector<std::string>& domain_of_rank = {});

// The ceiling of a point, for its record; nothing if the wires are unknown.
std::optional<Ceiling> point_ceiling(const CollectivePoint& point, CollectiveAlgorithm algorithm,
                                     const LinkRates& wires);

// Adds a sentence that explains a bus bandwidth above the wire, if there is one.
void note_above_wire(Record& record, const CollectivePoint& point, const LinkRates& wires);

}  // namespace cb
