#include "bench/network/arrivals.h"

#include <set>

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

}  // namespace cb::net
