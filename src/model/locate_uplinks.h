#pragma once

#include <vector>

#include "model/locate_score.h"

namespace cb::locating {

// Finds leaves whose hosts are mostly slow to other leaves, while traffic inside the leaf is fine;
// the slowest first. Marks the samples that cross such an uplink as explained.
std::vector<Suspect> find_uplinks(const FleetShape& fleet, const Judge& judge,
                                  std::vector<Sample>& samples);

}  // namespace cb::locating
