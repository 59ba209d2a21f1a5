#include "bench/network/arrivals.h"

#include <set>

#include "bench/harness/fault.h"

namespace cb::net {

std::vector<int> receiving_ranks(const std::vector<Arrivals>& points, const Nodes& nodes,
                                 int rails) {
  std::set<int> out;
  for (const Arrivals& point : points) {
    for (const RailRound& round : plan_rounds(point.params, nodes, rails, false)) {
      for (const RailPair& pair : round) {
        if (point.at_from) out.insert(nodes.rank_of(pair.from, pair.from_rail));
        if (point.at_to) out.insert(nodes.rank_of(pair.to, pair.to_rail));
      }
    }
  }
  return {out.begin(), out.end()};
}

std::vector<bool> points_with_fault(const Context& context, const Params& params,
                                    const std::vector<Arrivals>& points, const Nodes& nodes,
                                    int rails) {
  require_faulty_rank_among(context, params, receiving_ranks(points, nodes, rails),
                            "fault.receives_nothing");
  std::vector<bool> out;
  for (const Arrivals& point : points)
    out.push_back(plants_fault_among(context, params, receiving_ranks({point}, nodes, rails)));
  return out;
}

}  // namespace cb::net
