#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/collectives/point.h"

namespace cb {

// The limits of the library and the machine.
struct PlanLimits {
  int ranks = 2;                        // ranks of a group
  InPlace in_place = InPlace::mpi;      // meaning of --in-place
  uint64_t most_elements = UINT64_MAX;  // largest number of elements in a call
  // Returns why the buffers of this point do not fit; empty if they do.
  std::function<std::string(const CollectivePoint&)> no_room = {};
};

// The params that mpi and nccl have in common, with these types and reductions.
std::vector<ParamDef> collective_params(const std::vector<std::string>& types,
                                        const std::vector<std::string>& reductions,
                                        const char* max_size);
// The metrics that mpi and nccl have in common.
std::vector<MetricDef> collective_metrics();
FaultPlan collective_fault();

// The plan of a case whose iterations are long: --iterations exactly, or --duration with at least
// five of them.
SamplePlan plan_of_long_samples(const Params& params, uint64_t warm_up_samples);

// Every point that was asked for. Loops nest in this order: ops, types, reductions (once for an op
// that reduces nothing), sizes. Adds problems: a size that leaves a rank without a block, a count
// beyond what one call counts, buffers without room, a fault for a rank that does not exist. Sizes
// are those of groups of `limits.ranks` ranks.
std::vector<CollectivePoint> plan_collectives(const Context& context, const Params& params,
                                              const PlanLimits& limits, Problems& problems);

// Collective, as every rank calls it alike. plan_collectives() for each group in which a rank works
// at the same time, with the sizes of groups of `ranks[l]` ranks: by group, then by point, or
// nothing if there is a problem.
std::vector<std::vector<CollectivePoint>> plan_lanes(const Context& context, const Params& params,
                                                     const std::vector<int>& ranks,
                                                     PlanLimits limits, Problems& problems);

// PlanLimits::no_room for buffers in host memory: the buffers of all ranks of a host, each in
// `lanes` groups at the same time, must fit into three quarters of the available memory.
std::string no_host_room(const Context& context, const CollectivePoint& point, size_t lanes = 1);

}  // namespace cb
