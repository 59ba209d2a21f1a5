// Collectives of MPI in host memory over a sweep of sizes. Each iteration is timed from the rank's
// leaving a barrier to its own completion of the call; making and checking the data is not counted.
// Names, sizes and bandwidths are those of nccl-tests: docs/methods/collectives.md.
#include <algorithm>
#include <climits>

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

Record measure(Context& context, const Params& params, const CollectivePoint& point,
               const Group& group, const LinkRates& wires) {
  const std::string started = utc_now();
  MpiCall call({.collective = point.collective,
                .type = point.type,
                .reduction = point.reduction,
                .size = point.size,
                .rank = group.comm.rank(),
                .ranks = group.comm.size(),
                .in_place = point.in_place},
               group.comm.mpi());
  const PointResult result = measure_point(context, point, group.comm, call);
  Record record = begin_collective_record(context, "mpi", params, point, result);
  record.started = started;
  record.facts["library"] = mpi::library_name();
  if (!result.measured && same_everywhere(context, result))
    record.notes.push_back(said("coll.same_everywhere", mpi::library_name()));
  add_collective_figures(
      record, context,
      {group, group.comm.size(), point_ceiling(point, CollectiveAlgorithm::any, wires)}, point,
      result);
  note_above_wire(record, point, wires);
  record.ended = utc_now();
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  Problems problems;
  const std::string split = params.has("split") ? params.text("split") : "";
  check_split(context.place, split, 1, problems);
  throw_agreed(context.comm, "clusterbench mpi", problems);
  const Group group = make_group(context.place, context.comm.rank(), split);
  const PlanLimits limits{
      .ranks = group.comm.size(),
      .most_elements = INT_MAX,
      .no_room = [&](const CollectivePoint& point) { return no_host_room(context, point); }};
  const std::vector<CollectivePoint> points = plan_collectives(context, params, limits, problems);
  throw_agreed(context.comm, "clusterbench mpi", problems);
  const LinkRates wires = collective_wires(context, group, group.comm.size(), 0, false);
  return run_collectives(context, "mpi", params, points, [&](const CollectivePoint& point) {
    return measure(context, params, point, group, wires);
  });
}

}  // namespace

Case mpi_case() { return {describe(), run}; }

}  // namespace cb
