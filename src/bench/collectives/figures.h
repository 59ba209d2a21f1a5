#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/group.h"
#include "bench/collectives/point.h"
#include "bench/harness/case.h"

// Turns a PointResult into a Record, in the same way for every library.
namespace cb {

// The group that figures belong to.
struct FigureScope {
  const Group& group;
  int ranks = 1;  // ranks of the group as the library counts them: n of the bus factor
  std::optional<Ceiling> ceiling = {};  // ceiling of the bus bandwidth
};

// Starts the record of a point: this rank's check of the data, and what was asked. No figures yet.
Record begin_collective_record(const Context& context, const char* case_name, const Params& params,
                               const CollectivePoint& point, const PointResult& result);

// Adds this rank's times and, on the group's first rank, the group's bandwidths. Adds nothing if
// data were wrong.
void add_collective_figures(Record& record, const Context& context, const FigureScope& scope,
                            const CollectivePoint& point, const PointResult& result);

// Collective. Returns one record per point. If a size is slower than the size before it, the record
// on the rank that holds the bandwidth gets a note.
std::vector<Record> run_collectives(Context& context, const char* case_name, const Params& params,
                                    const std::vector<CollectivePoint>& points,
                                    const std::function<Record(const CollectivePoint&)>& measure);

}  // namespace cb
