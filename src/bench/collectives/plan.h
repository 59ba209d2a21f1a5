#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/collectives/point.h"

namespace cb {

// What the library and the machine allow.
struct PlanLimits {
  int ranks = 2;                        // of a group
  InPlace in_place = InPlace::mpi;      // what --in-place means
  uint64_t most_elements = UINT64_MAX;  // that one call counts
  // Why the buffers of this point do not fit; empty if they do.
  std::function<std::string(const CollectivePoint&)> no_room = {};
};

// The params that mpi and nccl have in common, with these types and reductions.
std::vector<ParamDef> collective_params(const std::vector<std::string>& types,
                                        const std::vector<std::string>& reductions,
                                        const char* max_size);
// And the metrics.
std::vector<MetricDef> collective_metrics();
FaultPlan collective_fault();

// Every point asked for: ops outside, then types, reductions (once for an op that reduces nothing)
// and sizes inside. What cannot be done is added to `problems`:
// a size that leaves a rank without a block, a count beyond what one call counts, buffers without
// room, a fault for a rank that is not there. Sizes are those of groups of `limits.ranks` ranks.
std::vector<CollectivePoint> plan_collectives(const Context& context, const Params& params,
                                              const PlanLimits& limits, Problems& problems);

// PlanLimits::no_room for buffers in host memory: those of all ranks of a host must fit into three
// quarters of what is available.
std::string no_host_room(const Context& context, const CollectivePoint& point);

}  // namespace cb
