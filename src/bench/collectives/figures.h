#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/group.h"
#include "bench/collectives/point.h"
#include "bench/harness/case.h"

// From what a point gave to its record: the same for every library.
namespace cb {

// Whose figures they are.
struct FigureScope {
  const Group& group;
  int ranks = 1;  // of the group, as the library counts them: n of the bus factor
  std::optional<Ceiling> ceiling = {};  // of the bus bandwidth
};

// The record of a point without figures yet: this rank's check of the data, and what was asked.
Record begin_collective_record(const Context& context, const char* case_name, const Params& params,
                               const CollectivePoint& point, const PointResult& result);

// This rank's times, and the group's bandwidths on its first rank. Nothing where data were wrong.
void add_collective_figures(Record& record, const Context& context, const FigureScope& scope,
                            const CollectivePoint& point, const PointResult& result);

// Collective. One record a point, with a note where a size is slower than the one before it, on the
// rank that holds the bandwidth.
std::vector<Record> run_collectives(Context& context, const char* case_name, const Params& params,
                                    const std::vector<CollectivePoint>& points,
                                    const std::function<Record(const CollectivePoint&)>& measure);

}  // namespace cb
