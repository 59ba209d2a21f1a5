#pragma once

#include <vector>

#include "model/locate.h"

namespace cb {

// Groups of units. Pairs were measured inside the groups, in all groups at the same time.
struct UnitGroups {
  SuspectKind kind = SuspectKind::inside;  // inside: of hosts; rail: of ranks in the same place
  int count = 0;
  std::vector<int> group_of = {};  // unit → its group
};

struct JudgedGroups {
  std::vector<Suspect> suspects = {};    // worst first; `host` or `rail` is the group
  std::vector<Suspect> slow_units = {};  // slow members of other groups; `host` is the unit
  double noise = 0;                      // see Located::noise
  double least_detectable = 1;  // smallest shortfall that would be seen in a group, as a share
};

// A group is slow if its median, compared with the median of all groups' medians, is slow by the
// measure of locate(), and three quarters of its samples are low: one slow member of four is in
// half of them. locate() then looks for slow members in the other groups, unit by unit. With fewer
// than three groups, or a group without three samples, there is no suspect and nothing could be
// seen.
JudgedGroups judge_groups(const UnitGroups& groups, const std::vector<PairSample>& samples,
                          const LocateOptions& options = {});

}  // namespace cb
