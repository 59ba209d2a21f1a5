#pragma once

#include <functional>
#include <vector>

#include "bench/harness/comm.h"
#include "model/training/host_links.h"

namespace cb::training {

// Collective over the job. The first rank of each host sends to the next host and receives from the
// previous one, then the other way round: rates of every host, in the order of map.hosts, on all
// ranks. Empty if there is one host only. `moved` is called after every exchange.
std::vector<HostLinks> probe_links(Comm& comm, const RankMap& map,
                                   const std::function<void()>& moved);

}  // namespace cb::training
