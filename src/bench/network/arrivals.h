#pragma once

#include <vector>

#include "bench/network/schedule.h"
#include "core/params.h"

namespace cb {
struct Context;
}

namespace cb::net {

// At which ends of a pair the data of a point arrives and is compared.
struct Arrivals {
  Params params;  // of the point's record: its schedule
  bool at_from = false;
  bool at_to = false;
};

// The ranks at which data arrives in one of the points or more, ascending.
std::vector<int> receiving_ranks(const std::vector<Arrivals>& points, const Nodes& nodes,
                                 int rails);

// For each point whether this rank spoils what arrives in it, as --inject-fault asks: the rank that
// it names, or with -1 the first of each point at which data arrives. Throws UsageError for a rank
// at which none arrives in any of the points.
std::vector<bool> points_with_fault(const Context& context, const Params& params,
                                    const std::vector<Arrivals>& points, const Nodes& nodes,
                                    int rails);

}  // namespace cb::net
