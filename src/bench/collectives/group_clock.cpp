#include "bench/collectives/group_clock.h"

#include <algorithm>

#include "core/clock.h"

namespace cb {

GroupClock::GroupClock(const GroupComm& group)
    : group_(group), started_(monotonic_seconds()), before_(group.clock_offset()) {}

void GroupClock::end() {
  drift_ = (group_.clock_offset() - before_) / std::max(1e-9, monotonic_seconds() - started_);
}

std::vector<double> GroupClock::late(std::vector<double> begun) const {
  for (double& at : begun) at += before_ + drift_ * (at - started_);
  const std::vector<double> first = group_.min(begun);
  for (size_t i = 0; i < begun.size(); ++i) begun[i] = std::max(0.0, begun[i] - first[i]);
  return begun;
}

}  // namespace cb
