#pragma once

#include <vector>

#include "bench/collectives/figures.h"
#include "bench/harness/case.h"
#include "model/collective_ceiling.h"

namespace cb {

// What all active RDMA ports of this host carry in one direction, bytes per second; 0 where there
// is none or a rate is not known.
double host_network_rate(const HostInventory& inventory);

// Collective over all ranks. The wires under a group of `ranks` (the library's) ranks: the slowest
// host's network counts. `gpu_link` is 0 where it is not known.
CollectiveWires collective_wires(Context& context, const Group& group, int ranks, double gpu_link,
                                 bool nvls_possible);

// The ceiling of a point as its record has it; nothing where the wires are not known.
std::optional<Ceiling> point_ceiling(const CollectivePoint& point, CollectiveAlgorithm algorithm,
                                     const CollectiveWires& wires);

// Adds the sentence that explains a bus bandwidth above the wire, if it is.
void note_above_wire(Record& record, const CollectivePoint& point, const CollectiveWires& wires);

}  // namespace cb
