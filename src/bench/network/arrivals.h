#pragma once

#include <vector>

#include "bench/network/schedule.h"
#include "core/params.h"

namespace cb::net {

// At which ends of a pair the data of a point arrives and is compared.
struct Arrivals {
  Params params;  // of the point's record: its schedule
  bool at_from = false;
  bool at_to = false;
};

// The ranks at which data arrives in one of the points or more, ascending: where --inject-fault has
// something to spoil.
std::vector<int> receiving_ranks(const std::vector<Arrivals>& points, const Nodes& nodes,
                                 int rails);

}  // namespace cb::net
