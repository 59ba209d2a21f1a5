// Collectives of MPI in host memory over a sweep of sizes. Each iteration is timed from the rank's
// leaving a barrier to its own completion of the call; making and checking the data is not counted.
// Names, sizes and bandwidths are those of nccl-tests: docs/methods/collectives.md.
#include <algorithm>
#include <climits>
#include <memory>

#include "bench/cases.h"
#include "bench/collectives/figures.h"
#include "bench/collectives/link_rates.h"
#include "bench/collectives/mpi/mpi_call.h"
#include "bench/collectives/plan.h"
#include "core/clock.h"

namespace cb {
namespace {

std::vector<std::string> first(const std::vector<std::string>& names, std::ptrdiff_t count) {
  return {names.begin(), names.begin() + count};
}

CaseInfo describe() {
  return {
      .name = "mpi",
      .device = "",
      .summary = "collectives in host memory: bandwidth, latency, every element checked",
      .example =
          "mpirun -np 4 clusterbench mpi --op all_reduce,alltoall --max-size 16M --json m.json",
      .domain = "network",
      .needs = {.ranks = 2},
      .params =
          collective_params(first(element_type_names(), 8), first(reduction_names(), 4), "64M"),
      .metrics = collective_metrics(),
      .checks = {"data"},
      .fault = collective_fault(),
  };
}

// Collective, where any rank saw wrong data. What all ranks received alike was wrong before it came
// to them: in a rank's contribution, or in the library's arithmetic.
bool same_everywhere(Context& context, const PointResult& result) {
  const std::string& text = result.first_wrong.text();
  const std::string seen = text.empty() ? "" : text.substr(context.who().size());
  const std::vector<std::string> all = context.comm.gather(seen);
  return !seen.empty() && all.size() > 1 &&
         std::ranges::all_of(all, [&](const std::string& one) { return one == seen; });
}

// One group in which this rank works, with its points and its wires.
struct MpiLane {
  const Group& group;
  const std::vector<CollectivePoint>& points;
  LinkRates wires;
};

MpiCall call_of(const MpiLane& lane, const CollectivePoint& point) {
  return MpiCall({.collective = point.collective,
                  .type = point.type,
                  .reduction = point.reduction,
                  .size = point.size,
                  .rank = lane.group.comm.rank(),
                  .ranks = lane.group.comm.size(),
                  .in_place = point.in_place},
                 lane.group.comm.mpi());
}

std::optional<Ceiling> ceiling_of(const MpiLane& lane, const CollectivePoint& point) {
  return point_ceiling(point, CollectiveAlgorithm::any, lane.wires);
}

Record begin_mpi_record(Context& context, const Params& params, const CollectivePoint& point,
                        const PointResult& result) {
  Record record = begin_collective_record(context, "mpi", params, point, result);
  record.facts["library"] = mpi::library_name();
  if (!result.measured && same_everywhere(context, result))
    record.notes.push_back(said("coll.same_everywhere", mpi::library_name()));
  return record;
}

Record measure(Context& context, const Params& params, const MpiLane& lane, size_t i) {
  const std::string started = utc_now();
  const CollectivePoint& point = lane.points[i];
  MpiCall call = call_of(lane, point);
  const PointResult result = measure_point(context, point, lane.group.comm, call);
  Record record = begin_mpi_record(context, params, point, result);
  add_collective_figures(record, context,
                         {lane.group, lane.group.comm.size(), ceiling_of(lane, point)}, point,
                         result);
  note_above_wire(record, point, lane.wires);
  record.started = started;
  record.ended = utc_now();
  return record;
}

// The groups of all dimensions of a grid at the same time.
Record measure_grid(Context& context, const Params& params, const std::vector<MpiLane>& grid,
                    size_t i) {
  const std::string started = utc_now();
  std::vector<std::unique_ptr<MpiCall>> calls;
  std::vector<MpiCall*> together;
  std::vector<CollectiveLane> lanes;
  for (const MpiLane& lane : grid) {
    calls.push_back(std::make_unique<MpiCall>(call_of(lane, lane.points[i])));
    together.push_back(calls.back().get());
    lanes.push_back({lane.group.comm, *calls.back(), lane.points[i]});
  }
  const std::vector<PointResult> results = measure_lanes(
      context, lanes, [&](std::span<double> seconds) { return run_together(together, seconds); });
  const PointResult joined = joined_lanes(results);
  Record record = begin_mpi_record(context, params, grid.front().points[i], joined);
  std::vector<LaneFigures> figures;
  for (size_t l = 0; l < grid.size(); ++l)
    figures.push_back(
        {grid[l].group, grid[l].points[i], results[l], ceiling_of(grid[l], grid[l].points[i])});
  add_grid_figures(record, context, joined, figures);
  record.started = started;
  record.ended = utc_now();
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  Problems problems;
  const std::string split = params.has("split") ? params.text("split") : "";
  check_split(context.place, split, 1, problems);
  throw_agreed(context.comm, "clusterbench mpi", problems);
  const std::vector<Group> groups = make_groups(context.place, context.comm.rank(), split);
  std::vector<int> sizes;
  for (const Group& group : groups) sizes.push_back(group.comm.size());
  const PlanLimits limits{.most_elements = INT_MAX, .no_room = [&](const CollectivePoint& point) {
                            return no_host_room(context, point);
                          }};
  const auto points = plan_lanes(context, params, sizes, limits, problems);
  throw_agreed(context.comm, "clusterbench mpi", problems);
  std::vector<MpiLane> lanes;
  for (size_t l = 0; l < groups.size(); ++l)
    lanes.push_back({groups[l], points[l],
                     collective_wires(context, groups[l], groups[l].comm.size(), 0, false)});
  return run_collectives(context, "mpi", params, points.front(), [&](size_t i) {
    return is_grid(split) ? measure_grid(context, params, lanes, i)
                          : measure(context, params, lanes.front(), i);
  });
}

}  // namespace

Case mpi_case() { return {describe(), run}; }

}  // namespace cb
