#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/collectives/group.h"
#include "bench/collectives/moe/expert_exchange.h"
#include "bench/collectives/moe/options.h"

namespace cb::moe {

// The device that tokens lie on, for the points of a case.
struct MoeDevice {
  // Collective, and throws on all ranks: whether there is memory for a point, before it is taken.
  std::function<void(const MoePoint&, const Routes&)> require_room;
  // Collective. The name of each rank is the last argument.
  std::function<std::unique_ptr<ExpertExchange>(Routes, const TokenData&, std::vector<std::string>)>
      make;
  std::function<void(Record&)> describe;  // the library and the parts
};

// The case on a device, but what belongs to that device alone.
CaseInfo moe_info();
// Collective. All points.
std::vector<Record> run_moe_points(Context& context, const Params& params, const GroupComm& group,
                                   const MoeDevice& device);
// Collective. Throws the same UsageError on all ranks if a host lacks memory for the buffers.
void require_host_memory(Context& context, const MoePoint& point, const Routes& routes);

}  // namespace cb::moe
