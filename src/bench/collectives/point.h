#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/collectives/call.h"
#include "bench/collectives/group.h"
#include "bench/collectives/rank_buffers.h"
#include "bench/harness/case.h"

namespace cb {

// What to measure at one size of one collective, and how.
struct CollectivePoint {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::float32;
  Reduction reduction = Reduction::sum;
  int64_t asked_bytes = 0;
  CollectiveSize size = {};
  SamplePlan plan = {};
  int checks = 20;  // in addition to those of timed iterations
  InPlace in_place = InPlace::no;
  std::optional<int64_t> faulty_rank = {};  // this rank flips a bit of what it receives
};

// What this rank measured.
struct PointResult {
  // Seconds of one call in every timed iteration, on this rank. Pingpong: of half a round trip, if
  // this rank initiates; else empty.
  std::vector<double> seconds;
  // The largest of the group's ranks, in every timed iteration.
  std::vector<double> slowest_seconds;
  // Seconds from the first arrival in the group to this rank's, in every timed iteration.
  std::vector<double> late_seconds;
  int checks = 0;  // calls of which every element was verified
  uint64_t wrong_elements = 0;
  Said first_wrong;       // empty if every check passed: which call, index, got and expected
  bool measured = false;  // same on all ranks: no rank saw a wrong element
};

// Collective. A quarter of the checks come before the timing, the rest after it; if one of the
// first fails, both are left out. The timed iterations 1, 2, 4, 8 … carry fresh data and are
// verified too. The group may be a part of all ranks: the groups then measure at the same time and
// take the same number of iterations. Throws Error for the library's errors, Interrupted if
// cancelled.
PointResult measure_point(Context& context, const CollectivePoint& point, const GroupComm& group,
                          CollectiveCall& call);

// A group in which this rank works, its call there, and the point's size for that group.
struct CollectiveLane {
  const GroupComm& group;
  CollectiveCall& call;
  const CollectivePoint& point;
};

// Makes the calls of all lanes at the same time, writes how long after its beginning each was done,
// in seconds of one call, and returns when it began, in monotonic seconds.
using RunLanes = std::function<double(std::span<double> seconds)>;

// Collective over all ranks. measure_point() for several groups at the same time: a result for
// each lane. Every lane is checked element for element; wrong data in one spoils the figures of
// all. Every iteration begins behind a barrier of all ranks.
std::vector<PointResult> measure_lanes(Context& context, const std::vector<CollectiveLane>& lanes,
                                       const RunLanes& run);

// Makes only the checks: for a group in which there is nothing to measure.
PointResult check_point(Context& context, const CollectivePoint& point, CollectiveCall& call);

}  // namespace cb
