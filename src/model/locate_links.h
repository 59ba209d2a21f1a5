#pragma once

#include <vector>

#include "model/locate_score.h"

namespace cb::locating {

struct FoundLinks {
  std::vector<Suspect> suspects;
  std::vector<HostPair> retest;
};

// Finds pairs that are low although both ends are fine with all others (`slow` is by NIC). A single
// low sample among millions is noise until it is repeated: such pairs go to `retest`.
FoundLinks find_links(const FleetShape& fleet, const Judge& judge,
                      const std::vector<Sample>& samples, const std::vector<bool>& slow);

}  // namespace cb::locating
