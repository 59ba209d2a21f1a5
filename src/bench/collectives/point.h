#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/call.h"
#include "bench/collectives/group.h"
#include "bench/collectives/share.h"
#include "bench/harness/case.h"

namespace cb {

// One collective at one size: what to measure and how.
struct CollectivePoint {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::float32;
  Reduction reduction = Reduction::sum;
  int64_t asked_bytes = 0;
  CollectiveSize size = {};
  SamplePlan plan = {};
  int checks = 20;  // besides those of timed iterations
  InPlace in_place = InPlace::no;
  std::optional<int64_t> faulty_rank = {};  // flips a bit of what it receives
};

// What this rank saw.
struct PointResult {
  std::vector<double> seconds;          // of one call, in every timed iteration, this rank;
                                        // pingpong: of half a round trip, where this rank initiates
  std::vector<double> slowest_seconds;  // of every timed iteration, the largest over the ranks of
                                        // the group
  std::vector<double> late_seconds;     // of every timed iteration, this rank's arrival after the
                                        // first of the group
  int checks = 0;                       // calls of which every element was verified
  uint64_t wrong_elements = 0;
  Said first_wrong;       // empty if every check passed: which call, index, got and expected
  bool measured = false;  // on all ranks: no rank saw a wrong element
};

// Collective. A quarter of the checks come before the timing (which is left out if one fails), the
// rest after it, and of the timed iterations the 1st, 2nd, 4th, 8th … carry fresh data and are
// verified as well. The group may be a part of all ranks: then the groups measure at the same time
// and take the same number of iterations. Throws Error for the library's errors, Interrupted when
// cancelled.
PointResult measure_point(Context& context, const CollectivePoint& point, const GroupComm& group,
                          CollectiveCall& call);

// Only the checks: for a group in which there is nothing to measure.
PointResult check_point(Context& context, const CollectivePoint& point, CollectiveCall& call);

}  // namespace cb
