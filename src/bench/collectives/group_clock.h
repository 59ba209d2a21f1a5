#pragma once

#include <vector>

#include "bench/collectives/group.h"

namespace cb {

// The clock of a group's first rank over a series of calls, to tell who began them late. Clocks
// drift, so the offset is taken before and after.
class GroupClock {
 public:
  // Collective, before the first call.
  explicit GroupClock(const GroupComm& group);
  // Collective, behind the last one.
  void end();
  // Collective. Seconds after the group's first rank, of calls that this rank began at these
  // moments of its monotonic clock.
  std::vector<double> late(std::vector<double> begun) const;

 private:
  const GroupComm& group_;
  double started_;
  double before_;
  double drift_ = 0;  // seconds a second
};

}  // namespace cb
