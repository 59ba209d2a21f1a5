#pragma once

#include <vector>

#include "model/locate_score.h"

namespace cb::locating {

struct FoundLinks {
  std::vector<Suspect> suspects;
  std::vector<HostPair> retest;
};

// Pairs that are low although both ends are fine with everybody else (`slow` by NIC). A single low
// sample among millions is noise until it is repeated: such pairs are asked for again.
FoundLinks find_links(const FleetShape& fleet, const Judge& judge,
                      const std::vector<Sample>& samples, const std::vector<bool>& slow);

}  // namespace cb::locating
