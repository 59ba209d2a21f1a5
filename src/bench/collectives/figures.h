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

// A grid's results, one of each lane: the record of the point as the rank saw it. Seconds are those
// of its slowest lane.
PointResult joined_lanes(const std::vector<PointResult>& lanes);

// Adds this rank's times and, on the first rank of its group of each dimension, the group's bus
// bandwidth as the metric of that dimension (dp_bus_bytes_per_second). Adds nothing if data were
// wrong.
struct LaneFigures {
  const Group& group;
  const CollectivePoint& point;
  const PointResult& result;
  std::optional<Ceiling> ceiling = {};
};
void add_grid_figures(Record& record, const Context& context, const PointResult& joined,
                      const std::vector<LaneFigures>& lanes);

// Collective. Returns one record per point, which measure(i) gives of points[i]. If a size is
// slower than the size before it, the record on the rank that holds the bandwidth gets a note.
std::vector<Record> run_collectives(Context& context, const char* case_name, const Params& params,
                                    const std::vector<CollectivePoint>& points,
                                    const std::function<Record(size_t)>& measure);

}  // namespace cb
