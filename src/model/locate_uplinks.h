#pragma once

#include <vector>

#include "model/locate_score.h"

namespace cb::locating {

// Leaves of which most hosts are slow to other leaves while traffic inside is fine, the slowest
// first. The samples that cross one of them are explained by it.
std::vector<Suspect> find_uplinks(const FleetShape& fleet, const Judge& judge,
                                  std::vector<Sample>& samples);

}  // namespace cb::locating
