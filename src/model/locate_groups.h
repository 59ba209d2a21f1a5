#pragma once

#include <vector>

#include "model/locate.h"

namespace cb {

// Groups of units of which pairs were measured inside them, all groups at the same time.
struct UnitGroups {
  SuspectKind kind = SuspectKind::inside;  // inside: of hosts; rail: of ranks with one place
  int count = 0;
  std::vector<int> group_of = {};  // by unit
};

struct JudgedGroups {
  std::vector<Suspect> suspects = {};    // worst first; host or rail: the group
  std::vector<Suspect> slow_units = {};  // of groups that are none; host: the unit
  double noise = 0;                      // as Located::noise
  double least_detectable = 1;  // so far below the others a group must be to be seen, as a share
};

// A group is slow if the median of its samples is, against the median of the groups' medians, by
// the measure of locate(), and three quarters of its samples are low: of four members a slow one is
// in half of them. What is left is given to locate() unit by unit, for slow members. Fewer than
// three groups, or groups without three samples, have no suspect and nothing that could be seen.
JudgedGroups judge_groups(const UnitGroups& groups, const std::vector<PairSample>& samples,
                          const LocateOptions& options = {});

}  // namespace cb
